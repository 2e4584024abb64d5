"""Use cases of manga series, their sources and chapters."""
