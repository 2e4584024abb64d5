"""`fascicle fic …`: reading an address or a saved page, without any request to a site."""

from pathlib import Path
from typing import Annotated, Any

import typer

from fascicle.domain.errors import FascicleError, UsageError
from fascicle.domain.fics.fic import Blurb, Fic, FicKind, FicRef, SeriesPage
from fascicle.domain.fics.fic_url import normal_form
from starter.context import command, fail
from starter.fics.saved_page import page_in, read_saved
from starter.options import AsJson
from starter.output import plain, print_facts, print_json, print_line, print_note, print_table

app = typer.Typer(help="Fan fiction: works and series that are read for people.", no_args_is_help=True)

_WORK_COLUMNS = ("part", "title", "authors", "words", "chapters", "rating", "relationships", "error")


@app.command("normalize")
def normalize(
    url: Annotated[str, typer.Argument(metavar="URL", help="The fic's address, in any of its forms.")],
    as_json: AsJson = False,
) -> None:
    """The one address that a fic is known by, or why this is none."""
    ref = _meant(url, as_json)
    is_known = ref.kind is not FicKind.NEEDS_LOOKUP
    found = {
        "normal_form": ref.url if is_known else None,
        "url": ref.url if is_known else None,
        "site": ref.site,
        "kind": ref.kind.value,
        "id": ref.id,
        "job_id": f"fic-{ref.key}" if is_known else None,
    }
    print_json(found) if as_json else print_facts(found)
    if not is_known:
        print_note(
            f"This is one part of a work: only {ref.site} knows of which, so it has to be asked first."
        )


@app.command("preview")
@command
async def preview(
    file: Annotated[Path, typer.Argument(help="A page of the site, saved to a file.")],
    url: Annotated[str, typer.Option(help="The fic's address.")],
    as_json: AsJson = False,
) -> None:
    """What a saved page yields, or which error. Nothing is stored, no site is asked."""
    ref = _meant(url, as_json)

    body = page_in(file)
    try:
        found = _facts(await read_saved(body, ref))
    except UsageError:
        raise
    except FascicleError as error:
        found = {"error_code": error.code, "error": error.message}
    print_json(found) if as_json else _show(found)


def other_sites(url: str) -> FicRef | None:
    """The fic by FanFicFare's rules for hosts that we do not know; the import is slow."""
    from fascicle.sites.fanficfare import normal_form_of

    return normal_form_of(url)


def _meant(url: str, as_json: bool) -> FicRef:
    try:
        return normal_form(url, other_sites)
    except UsageError as error:
        if as_json:
            print_json({"error_code": error.code, "reason": error.message})
        fail(error.message, 2)
        raise  # only for the type checker: `fail` never returns


def _facts(found: Fic | SeriesPage) -> dict[str, Any]:
    """Works and series with the same fields, so that a program need not distinguish them."""
    if isinstance(found, Fic):
        return {**found.model_dump(mode="json"), "works": []}
    empty: dict[str, Any] = {
        "fandoms": [],
        "relationships": [],
        "rating": None,
        "chapters": None,
        "series": [],
    }
    works = [_work(blurb) for blurb in found.works]
    return {**empty, **found.model_dump(mode="json", exclude={"works"}), "works": works}


def _work(blurb: Blurb) -> dict[str, Any]:
    facts = (blurb.fic or Fic(site="ao3", id=blurb.work_id or "", url="", title="")).model_dump(mode="json")
    return {**facts, "part": blurb.part, "error": blurb.error, "error_code": blurb.error_code}


def _show(found: dict[str, Any]) -> None:
    if "error_code" in found:
        print_line(f"{plain(found['error_code'])}: {plain(found['error'])}")
        return
    works = found.pop("works")
    found["series"] = [f"{place['title']} ({place['part'] or '?'})" for place in found["series"]]
    print_facts({name: value for name, value in found.items() if value not in (None, [], "")})
    if works:
        print_table(_WORK_COLUMNS, works, empty="")
