"""Measurements, not tests: `make bench` and `make bench-peers`."""
