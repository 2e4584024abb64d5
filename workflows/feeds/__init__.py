"""Workflows of feeds, their items and inboxes."""
