"""Rows of messages to people."""
