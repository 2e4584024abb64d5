"""Outlines of workflows: what produces commands, in which order, on which conditions (docs/upgrading.md)."""
