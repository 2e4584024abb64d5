"""Use cases of feeds, their items and inboxes."""
