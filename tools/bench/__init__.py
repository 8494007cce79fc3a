"""Benchmarks: what `make bench` measures, and the page that it writes (`docs/performance.md`)."""
