"""Workflows of what keeps an installation running."""
