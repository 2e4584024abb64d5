"""Workflows of the queue of fics."""
