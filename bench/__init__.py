"""Benchmarks: what the real stack does, as a share of what the database alone could do in the same run."""
