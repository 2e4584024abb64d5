"""`fascicle up` and the demo."""
