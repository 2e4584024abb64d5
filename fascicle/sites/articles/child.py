"""A child process that reads articles; its parent starts `python -m fascicle.sites.articles.child`."""

from fascicle.sites.articles.reading import read_article
from fascicle.sites.reading.child import serve

if __name__ == "__main__":
    serve(read_article)
