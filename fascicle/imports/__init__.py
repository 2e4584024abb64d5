"""Reading other trackers' files: one module per format, each from bytes or text to a list of `Wanted`."""
