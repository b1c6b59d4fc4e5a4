"""Benchmarks; their figures are in RESULTS.md."""
