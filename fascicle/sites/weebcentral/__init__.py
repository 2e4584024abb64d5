"""WeebCentral: its pages, read in the sandbox."""
