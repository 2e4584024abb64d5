"""Benchmarks of the real stack, most of them compared with a limit that is measured in the same run."""
