"""One module per upstream: fetch and parse into domain types."""
