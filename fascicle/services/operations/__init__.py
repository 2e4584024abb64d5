"""Use cases of what keeps an installation running."""
