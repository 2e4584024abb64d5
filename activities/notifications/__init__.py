"""Activities of messages to people."""
