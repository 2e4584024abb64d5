"""Orchestration only: deterministic, one workflow per file. They decide order and time, nothing else."""
