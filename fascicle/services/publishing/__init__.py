"""Use cases of posts, accounts and automations."""
