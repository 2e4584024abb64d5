"""The one pool of processes that parse untrusted documents. A document can damage one of them, no more.

`Reading` lists the functions they may run, `Sandbox` is the parent's side, `child` the loop of a process.
"""

from fascicle.sandbox.pool import Sandbox
from fascicle.sandbox.readings import Reading

__all__ = ["Reading", "Sandbox"]
