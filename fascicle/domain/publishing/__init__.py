"""Rules of posts, accounts and automations."""
