"""A process of ours: its logs, memory, open files, disk space and correlation ids."""
