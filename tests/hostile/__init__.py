"""What strangers may send, and what must not come of it."""
