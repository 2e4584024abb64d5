"""Activities of posts, accounts and automations."""
