"""Rows of what keeps an installation running."""
