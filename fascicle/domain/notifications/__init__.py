"""Rules of messages to people."""
