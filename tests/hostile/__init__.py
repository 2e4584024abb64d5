"""Input that strangers may send to do harm: generated, never stored."""
