"""Activities of what keeps an installation running."""
