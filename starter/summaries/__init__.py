"""Commands for pages that become summaries."""
