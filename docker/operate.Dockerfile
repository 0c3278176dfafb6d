# `stormcut operate` as a container; docker/operate-image gathers what this copies.
ARG BASE=stormcut-base:bookworm
FROM ${BASE}

# A Java for Spark, stormcut's wheel with all that it requires.
COPY java /opt/stormcut/java
COPY python /opt/stormcut/python
RUN useradd --system --uid 10001 --create-home --home-dir /var/lib/stormcut stormcut

ENV JAVA_HOME=/opt/stormcut/java \
    PYTHONPATH=/opt/stormcut/python \
    PATH=/opt/stormcut/python/bin:/opt/stormcut/java/bin:/usr/bin:/bin \
    STORMCUT_HTTP_PORT=9464
USER stormcut
WORKDIR /var/lib/stormcut
# http.port of the configuration must be this one.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["python3", "-c", \
    "import os, urllib.request; urllib.request.urlopen('http://127.0.0.1:' + os.environ['STORMCUT_HTTP_PORT'] + '/healthz', timeout=4)"]
ENTRYPOINT ["python3", "-m", "stormcut.cli.main"]
CMD ["operate", "/etc/stormcut.yaml"]
