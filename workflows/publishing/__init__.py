"""Workflows of posts, accounts and automations."""
