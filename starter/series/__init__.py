"""Commands for manga series, their sources and chapters."""
