"""The ops pages: liveness, readiness, metrics."""
