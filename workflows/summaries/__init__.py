"""Workflows of pages that become summaries."""
