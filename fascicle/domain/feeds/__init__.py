"""Rules of feeds, their items and inboxes."""
