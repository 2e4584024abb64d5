"""Rules of the queue of fics."""
