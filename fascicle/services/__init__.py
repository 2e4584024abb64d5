"""Every use case once, for people, programs and workflows."""
