"""Use cases of messages to people."""
