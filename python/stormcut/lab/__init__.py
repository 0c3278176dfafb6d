"""The laboratory: clusters to try things on, benches, the papers re-run; the core needs none."""
