# The base image where an image registry is reachable; docker/base-image makes the same without.
FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends python3 iproute2 ca-certificates procps \
 && rm -rf /var/lib/apt/lists/*
