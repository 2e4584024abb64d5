"""`fascicle discord …`: registering our commands with Discord (docs/discord.md)."""

from typing import Annotated

import typer

from fascicle.domain.errors import UsageError
from fascicle.services.dependencies import standalone_http
from fascicle.settings.settings import Settings
from fascicle.web.discord_commands import DEFINITIONS
from starter.context import command, effective_settings
from starter.output import print_json, print_line

app = typer.Typer(help="The commands on Discord.", no_args_is_help=True)

_EVERYWHERE = "wherever the application was added (this may take a while)"


@app.callback()
def _group() -> None:
    """Typer makes a group of a single command only where it is told so."""


@app.command("register")
@command
async def register(
    guild: Annotated[
        str | None, typer.Option(help="Only in the server of this id, where they are there at once.")
    ] = None,
    only_print: Annotated[
        bool, typer.Option("--print", help="Show what would be sent, as JSON, and send nothing.")
    ] = False,
) -> None:
    """Tell Discord the commands. Replaces all that the application had there before."""
    from fascicle.sites.discord import Discord

    if guild is not None:
        _check_is_id("--guild", guild)
    if only_print:
        print_json(DEFINITIONS)
        return
    settings = effective_settings()
    application_id = _application_id(settings)
    async with standalone_http(settings) as http:
        discord = Discord(http, base_url=settings.discord_url, bot_token=settings.discord_bot_token)
        number = await discord.register(application_id, DEFINITIONS, guild)
    place = f"in the server {guild}" if guild else _EVERYWHERE
    print_line(f"{number} commands registered {place}: /rec and /setficqueuechannel.")


def _application_id(settings: Settings) -> str:
    if settings.discord_application_id is None or settings.discord_bot_token is None:
        missing = [
            name
            for name, value in (
                ("FASCICLE_DISCORD_APPLICATION_ID", settings.discord_application_id),
                ("FASCICLE_DISCORD_BOT_TOKEN", settings.discord_bot_token),
            )
            if value is None
        ]
        raise UsageError(
            "wrong_setting",
            f"Set {' and '.join(missing)} first (docs/discord.md says where to find them), "
            "or see what would be sent with --print.",
        )
    _check_is_id("FASCICLE_DISCORD_APPLICATION_ID", settings.discord_application_id)
    return settings.discord_application_id


def _check_is_id(name: str, given: str) -> None:
    if not (given.isascii() and given.isdigit() and len(given) <= 20):
        raise UsageError("wrong_usage", f"{name}: Discord's ids are numbers such as 1130000000000000001.")
