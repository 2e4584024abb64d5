"""Use cases of the queue of fics."""
