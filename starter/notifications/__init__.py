"""Commands for messages to people."""
