"""Rows of pages that become summaries."""
