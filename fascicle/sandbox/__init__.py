"""The one pool of processes that parse what strangers wrote. A document can wear out one of them, no more.

`Reading` lists what they may run, `Sandbox` is the parent's side, `child` the loop of such a process.
"""

from fascicle.sandbox.pool import Sandbox
from fascicle.sandbox.readings import Reading

__all__ = ["Reading", "Sandbox"]
