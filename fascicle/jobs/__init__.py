"""The start of each workflow, once: its input, id, priority, search attributes and summary.

Clients (`fascicle.temporal.workflow_start`) and parent workflows (`workflows.children`) start from the same.
"""
