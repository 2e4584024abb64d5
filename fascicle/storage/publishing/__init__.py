"""Rows of posts, accounts and automations."""
