"""Activities of pages that become summaries."""
