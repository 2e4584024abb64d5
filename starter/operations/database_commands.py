"""`fascicle db …`: the schema, backups, and the steps after a restore."""

import typer

from fascicle.storage.database import schema_versions, upgrade
from starter.context import command, database_only
from starter.operations.backup import backup, restore, restored
from starter.output import plain, print_line

db_app = typer.Typer(help="The database.", no_args_is_help=True)
db_app.command("backup")(backup)
db_app.command("restore")(restore)
db_app.command("restored")(restored)


@db_app.command("upgrade")
@command
async def db_upgrade() -> None:
    """Bring the schema to this version."""

    async with database_only(any_schema=True) as dependencies:
        before, _ = await schema_versions(dependencies.engine)
        await upgrade(dependencies.engine)
        after, _ = await schema_versions(dependencies.engine)
    moved = f"{before or 'empty'} → {after}" if before != after else f"{after}, nothing to do"
    print_line(plain(f"schema: {moved}"))
