"""A whole stack in a process of its own, for tests that kill it or run it as another user.

python -m tests.embedded.stack_process FOLDER [--once]
"""

import asyncio
import sys
from pathlib import Path

import asyncpg

from fascicle.embedded import Command, DataFolder, EmbeddedPostgres, EmbeddedTemporal, Supervisor


async def main(path: Path, once: bool) -> None:
    with DataFolder(path) as folder:
        async with Supervisor(folder.path) as supervisor:
            postgres = EmbeddedPostgres(folder.path)
            temporal = EmbeddedTemporal(folder.path, port=0, ui_port=0)
            await postgres.start(supervisor)
            await temporal.start(supervisor)
            await supervisor.start(Command(name="sleeper", argv=["sleep", "600"]))
            await leave_a_row(postgres.url)
            addresses = {"database_url": postgres.url, "temporal_address": temporal.address}
            folder.publish({**addresses, **supervisor.pids})
            if not once:
                await asyncio.Event().wait()


async def leave_a_row(url: str) -> None:
    connection = await asyncpg.connect(url.replace("+asyncpg", ""))
    try:
        await connection.execute("CREATE TABLE IF NOT EXISTS visit (at timestamptz)")
        await connection.execute("INSERT INTO visit VALUES (now())")
    finally:
        await connection.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), "--once" in sys.argv))
