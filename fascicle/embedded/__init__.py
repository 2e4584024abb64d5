"""PostgreSQL, Temporal and other commands as supervised child processes, with their data in one folder."""

from fascicle.embedded.command import Command
from fascicle.embedded.datafolder import DataFolder, read_running_stack
from fascicle.embedded.errors import (
    DataFolderCorrupt,
    DataFolderInUse,
    EmbeddedError,
    ProcessNotReady,
    ProgramMissing,
)
from fascicle.embedded.ports import PortBook, choose_port
from fascicle.embedded.postgres import EmbeddedPostgres
from fascicle.embedded.probes import accepts_tcp, http_status
from fascicle.embedded.process import ManagedProcess
from fascicle.embedded.supervisor import Supervisor
from fascicle.embedded.temporal import EmbeddedTemporal, find_temporal

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
