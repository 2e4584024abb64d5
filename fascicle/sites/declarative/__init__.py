"""Sites described by a YAML file instead of Python (docs/adapters.md)."""

from fascicle.sites.declarative.files import Surroundings, build_site, load_folder
from fascicle.sites.declarative.site import DeclarativeSite

__all__ = ["DeclarativeSite", "Surroundings", "build_site", "load_folder"]
