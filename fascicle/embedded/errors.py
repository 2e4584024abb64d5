"""The errors of the embedded stack. Every message says what to do next.

EmbeddedError
├── DataFolderInUse     another process runs on the folder
├── DataFolderCorrupt   the folder is not what Fascicle would have left there
├── ProgramMissing      a binary of the wheels, or a system tool they need, is absent
└── ProcessNotReady     a child ended, or stayed silent, before it was ready
"""


class EmbeddedError(Exception):
    """The embedded stack cannot do what was asked."""


class DataFolderInUse(EmbeddedError):
    """Another living process owns the data folder."""


class DataFolderCorrupt(EmbeddedError):
    """The data folder cannot be used as it is; nothing in it was changed."""


class ProgramMissing(EmbeddedError):
    """A program that the embedded stack runs is not installed."""


class ProcessNotReady(EmbeddedError):
    """A child process did not become ready; the message contains the end of its log."""
