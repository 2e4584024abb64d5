"""PostgreSQL, Temporal and any other command as supervised children, with their data in one folder."""

from fascicle.runtime.embedded.command import Command
from fascicle.runtime.embedded.datafolder import DataFolder, read_running_stack
from fascicle.runtime.embedded.errors import (
    DataFolderCorrupt,
    DataFolderInUse,
    EmbeddedError,
    ProcessNotReady,
    ProgramMissing,
)
from fascicle.runtime.embedded.ports import PortBook, choose_port
from fascicle.runtime.embedded.postgres import EmbeddedPostgres
from fascicle.runtime.embedded.probes import accepts_tcp, http_status
from fascicle.runtime.embedded.process import ManagedProcess
from fascicle.runtime.embedded.supervisor import Supervisor
from fascicle.runtime.embedded.temporal import EmbeddedTemporal, find_temporal

__all__ = [
    "Command",
    "DataFolder",
    "DataFolderCorrupt",
    "DataFolderInUse",
    "EmbeddedError",
    "EmbeddedPostgres",
    "EmbeddedTemporal",
    "ManagedProcess",
    "PortBook",
    "ProcessNotReady",
    "ProgramMissing",
    "Supervisor",
    "accepts_tcp",
    "choose_port",
    "find_temporal",
    "http_status",
    "read_running_stack",
]
