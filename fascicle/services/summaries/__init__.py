"""Use cases of pages that become summaries."""
