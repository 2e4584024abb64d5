"""Commands for feeds, their items and inboxes."""
