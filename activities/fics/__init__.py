"""Activities of the queue of fics."""
