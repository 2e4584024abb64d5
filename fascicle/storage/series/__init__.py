"""Rows of manga series, their sources and chapters."""
