"""Rules of pages that become summaries."""
