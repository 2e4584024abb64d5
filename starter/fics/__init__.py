"""Commands for the queue of fics."""
