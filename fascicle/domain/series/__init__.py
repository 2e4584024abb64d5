"""Rules of manga series, their sources and chapters."""
