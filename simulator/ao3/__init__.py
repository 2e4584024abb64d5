"""An archive of fan fiction with the structure of AO3's pages, and works that misbehave on demand."""

from simulator.ao3.archive import Archive
from simulator.ao3.records import Ao3SeriesSpec, Place, Work, WorkSpec
from simulator.ao3.site import Ao3

__all__ = ["Ao3", "Ao3SeriesSpec", "Archive", "Place", "Work", "WorkSpec"]
