"""Rows of the queue of fics."""
