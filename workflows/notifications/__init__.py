"""Workflows of messages to people."""
