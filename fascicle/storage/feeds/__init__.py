"""Rows of feeds, their items and inboxes."""
