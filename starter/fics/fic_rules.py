"""`fascicle fic rules …`: trying the ship rules on tags or on a saved page (F6)."""

from pathlib import Path
from typing import Annotated

import typer

from fascicle.domain.errors import FascicleError, UsageError
from fascicle.domain.fics.fic import Fic, FicKind, JobState, Verdict
from fascicle.domain.fics.ship_rule import ShipRules, judge
from fascicle.domain.given_text import check_is_text
from starter.context import command, effective_settings
from starter.fics.saved_page import page_in, read_saved
from starter.options import AsJson
from starter.output import plain, print_json, print_line

app = typer.Typer(help="Which fics belong here.", no_args_is_help=True)


@app.callback()
def _rules() -> None:
    """Which fics belong here."""


@app.command("test")
@command
async def try_rules(
    page: Annotated[Path | None, typer.Argument(help="A work's page, saved in a browser.")] = None,
    url: Annotated[str | None, typer.Option(help="The address the page was saved from.")] = None,
    fandom: Annotated[list[str] | None, typer.Option(help="A fandom tag; as often as there are.")] = None,
    relationship: Annotated[
        list[str] | None, typer.Option(help="A relationship tag, in the work's order; as often as there are.")
    ] = None,
    rules: Annotated[
        Path | None, typer.Option(help="Another file of rules than FASCICLE_SHIP_RULES names.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """What the rules say of a saved page, or of tags. Ends with 0 if the work belongs here, with 1 if not."""

    wanted = _load(rules)
    fic = await _fic(page, url, fandom or [], relationship or [])
    verdict = judge(fic, wanted)
    _tell(verdict, wanted, as_json)
    if not verdict.ok:
        raise typer.Exit(1)


def _load(file: Path | None) -> ShipRules:
    from fascicle.services.fics.ship_rules import load_ship_rules

    if file is None:
        return load_ship_rules(effective_settings().ship_rules)
    if not file.exists():
        raise UsageError("wrong_usage", f"There is no file {file}.")
    return load_ship_rules(file)


async def _fic(page: Path | None, url: str | None, fandoms: list[str], relationships: list[str]) -> Fic:
    tags = [*fandoms, *relationships]
    if (page is None) is not bool(tags):
        raise UsageError("wrong_usage", "Name a page, or tags with --fandom and --relationship: one of both.")
    if page is None:
        for tag in tags:
            check_is_text(tag)
        return Fic(site="", id="", url="", title="", fandoms=fandoms, relationships=relationships)
    if url is None:
        raise UsageError("wrong_usage", "Say with --url which address the page was saved from.")
    body = page_in(page)
    try:
        return await _work_in(body, url)
    except FascicleError as error:
        # Exit code 1 means that a work does not belong here; an unreadable page says nothing about that.
        raise UsageError(error.code, f"{page}: {error.message}") from error


async def _work_in(body: bytes, url: str) -> Fic:
    # FanFicFare takes half a second to load, and the check of tags does not need it.
    from fascicle.domain.fics.fic_url import normal_form
    from fascicle.sites.fanficfare import normal_form_of

    ref = normal_form(url, others=normal_form_of)
    found = await read_saved(body, ref) if ref.kind is FicKind.WORK else None
    if not isinstance(found, Fic):
        raise UsageError("wrong_usage", "rules are about single works; save the page of one.")
    return found


def _tell(verdict: Verdict, rules: ShipRules, as_json: bool) -> None:
    state = JobState.DONE if verdict.ok else JobState.NOTP
    if as_json:
        shown = {"ok": verdict.ok, "verdict": state, "rule": verdict.rule, "reasons": verdict.reasons}
        print_json(shown)
    elif not rules.rules:
        print_line("It belongs here: there are no rules, so every work does.")
    elif verdict.ok:
        print_line(f"[green]It belongs here[/] by the rule {plain(verdict.rule)}.")
    else:
        print_line(f"[red]{state}[/]: it does not belong here.")
        for reason in verdict.reasons:
            print_line(f"  {plain(reason)}")
