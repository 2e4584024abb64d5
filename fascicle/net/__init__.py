"""The HTTP client: gate, SSRF guard, caps."""
