"""Commands for posts, accounts and automations."""
