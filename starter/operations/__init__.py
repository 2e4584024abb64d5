"""Commands for what keeps an installation running."""
