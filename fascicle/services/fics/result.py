"""The result of a fic that was read: stored, and judged by the community's rules (F6, F7)."""

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from sqlalchemy.ext.asyncio import AsyncConnection

from fascicle.domain.errors import PermanentError
from fascicle.domain.fics.fic import Blurb, Fic, FicCode, FicKind, FicRef, JobState, SeriesPage, WorkResult
from fascicle.domain.fics.ship_rule import ShipRules, judge
from fascicle.services.fics.ship_rules import load_ship_rules
from fascicle.sites.fic import Ao3, OtherFicSites
from fascicle.storage.fics import fic as fics

# Errors on our side: the first set says nothing about the page, `crashed` may be caused by it.
NOT_ITS_FAULT = frozenset({"worker_lost", "store_down"})
_OUR_OWN = NOT_ITS_FAULT | {"crashed"}
# Codes of the HTTP client that have a fic code of their own.
_CODES = {"auth_failed": FicCode.LOGIN_REQUIRED, "bad_answer": FicCode.TRANSIENT}


@dataclass(frozen=True)
class Conclusion:
    state: JobState
    reasons: list[str] = field(default_factory=list)
    works: list[WorkResult] = field(default_factory=list)


class Reader:
    """Reads pages that a person saved, and the file's present rules."""

    def __init__(self, ao3: Ao3, others: OtherFicSites, rules_file: Path) -> None:
        self._ao3 = ao3
        self._others = others
        self._rules_file = rules_file

    async def read_saved(self, ref: FicRef, body: bytes) -> Fic | SeriesPage:
        site = self._ao3 if ref.site == "ao3" else self._others
        return await site.read_saved(ref, body)

    def rules(self) -> ShipRules:
        return load_ship_rules(self._rules_file)


async def conclude(
    connection: AsyncConnection, ref: FicRef, read: Fic | list[SeriesPage], rules: ShipRules, now: datetime
) -> Conclusion:
    """Store a fic or series that was read, and return the verdict on it."""
    if isinstance(read, Fic):
        await fics.keep_works(connection, [read], now)
        return await verdict_on_work(connection, ref, read, rules)
    blurbs = [blurb for page in read for blurb in page.works]
    _check_any_was_read(ref, blurbs)
    hidden = hidden_works(read)
    await fics.keep_series(connection, ref, read, hidden, now)
    return await verdict_on_series(connection, ref, blurbs, rules)


def _check_any_was_read(ref: FicRef, blurbs: list[Blurb]) -> None:
    """Raises if no work of the list can be read, so that the known list stays. Single ones may fail."""
    if not blurbs or any(blurb.fic is not None for blurb in blurbs):
        return
    if all(blurb.error_code == FicCode.UNREVEALED for blurb in blurbs):
        raise PermanentError(FicCode.UNREVEALED, f"None of the works of {ref.url} is revealed yet.")
    raise PermanentError(
        FicCode.PARSER_BROKEN, f"None of the {len(blurbs)} works of {ref.url} can be read: {blurbs[0].error}"
    )


async def judge_again(connection: AsyncConnection, ref: FicRef, rules: ShipRules) -> Conclusion | None:
    """The verdict on the stored data of an earlier reading; None: there is none."""
    if ref.kind is FicKind.WORK:
        known = await fics.work(connection, ref.key)
        return None if known is None else await verdict_on_work(connection, ref, known, rules)
    if await fics.find(connection, ref.key) is None:
        return None
    return await verdict_on_series(connection, ref, await fics.works_of_series(connection, ref.key), rules)


async def verdict_on_work(connection: AsyncConnection, ref: FicRef, fic: Fic, rules: ShipRules) -> Conclusion:
    verdict = judge(fic, rules)
    if verdict.ok or await fics.override_of(connection, ref.key) is not None:
        return Conclusion(JobState.DONE)
    return Conclusion(JobState.NOTP, verdict.reasons)


async def verdict_on_series(
    connection: AsyncConnection, ref: FicRef, blurbs: list[Blurb], rules: ShipRules
) -> Conclusion:
    """A series is accepted if any of its works is; each work has its own result."""
    series_is_fine = await fics.override_of(connection, ref.key) is not None
    works = []
    for blurb in blurbs:
        fine = series_is_fine or (blurb.fic is not None and await _overridden(connection, blurb.fic))
        works.append(_work_result(blurb, rules, fine=fine))
    if works and not any(work.state is JobState.DONE for work in works):
        reasons = [reason for work in works for reason in work.reasons]
        return Conclusion(
            JobState.NOTP, [f"None of its {len(works)} works fits.", *dict.fromkeys(reasons)], works
        )
    return Conclusion(JobState.SERIES_DONE, [], works)


async def _overridden(connection: AsyncConnection, fic: Fic) -> bool:
    ref = FicRef(site=fic.site, kind=FicKind.WORK, id=fic.id, url=fic.url)
    return await fics.override_of(connection, ref.key) is not None


def _work_result(blurb: Blurb, rules: ShipRules, *, fine: bool) -> WorkResult:
    if blurb.fic is None:
        error = blurb.error or "This entry of the list cannot be read."
        code = blurb.error_code or FicCode.PARSER_BROKEN
        return WorkResult(
            part=blurb.part, id=blurb.work_id, state=JobState.ERROR, reasons=[error], error_code=code
        )
    verdict = judge(blurb.fic, rules)
    ok = fine or verdict.ok
    return WorkResult(
        part=blurb.part,
        id=blurb.fic.id,
        title=blurb.fic.title,
        url=blurb.fic.url,
        state=JobState.DONE if ok else JobState.NOTP,
        reasons=[] if ok else verdict.reasons,
    )


def hidden_works(pages: list[SeriesPage]) -> int:
    """The number of works that only logged-in users see: the gaps between the parts (the site's own count
    leaves them out). An unrevealed work is listed without its part, so it fills a gap."""
    listed = [blurb for page in pages for blurb in page.works]
    parts = {blurb.part for blurb in listed if blurb.part is not None}
    without_part = len(listed) - len([blurb for blurb in listed if blurb.part is not None])
    return max(0, max(parts, default=0) - len(parts) - without_part)


def fic_code(code: str, *, retryable: bool) -> str:
    """The fic code of an error from any layer."""
    if code in set(FicCode) or code in _OUR_OWN:
        return code
    return _CODES.get(code, FicCode.TRANSIENT if retryable else code)


def first_page_missing(page: SeriesPage) -> PermanentError:
    return PermanentError(
        "page_missing",
        f"That is page {page.page} of {page.pages} of the series' list. Hand in the first.",
    )
