"""Strangers' documents, read in processes that one of them may wear out: it harms nothing else.

`serve` is the loop of such a process, `Readers` the parent's side.
"""

from fascicle.sites.reading.readers import Readers

__all__ = ["Readers"]
