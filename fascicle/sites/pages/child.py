"""A child process that reads pages: the parent starts it with `python -m fascicle.sites.pages.child`."""

from fascicle.sites.pages.reading import read_page
from fascicle.sites.reading.child import serve

if __name__ == "__main__":
    serve(read_page)
