"""Activities of feeds, their items and inboxes."""
