"""What came of an experiment with fics, in the words of `books`."""

from collections import Counter

from tests.chaos.books import Books, Telling
from tests.harness import Harness

_JOBS = "select url, state from fic_job"
_NOTICES = """
select u.name, n.job_key, n.event, n.title, n.body, d.state,
  exists (select 1 from dead_letter l where l.kind = 'deliver' and l.job_key = d.id::text) as has_letter
from notice n join app_user u on u.id = n.user_id join delivery d on d.notice_id = n.id"""
_OPEN = """
select (select count(*) from fic_job where state in ('pending', 'processing'))
     + (select count(*) from delivery where state in ('pending', 'sending'))"""


async def read_fic_books(harness: Harness) -> Books:
    """Fics with their last state; who was told of which event of which fic."""
    notices = await harness.rows(_NOTICES)
    events = {(row["name"], row["title"], row["body"]): _telling(row) for row in notices}
    sent = [(m.name, m.title, m.message) for m in harness.simulator.sink.messages()]
    return Books(
        chapters=Counter((row["url"], row["state"]) for row in await harness.rows(_JOBS)),
        notifications=Counter(map(_telling, notices)),
        states={_telling(row): row["state"] for row in notices},
        messages=Counter(events.get(message, message) for message in sent),
    )


def _telling(row: dict[str, str]) -> Telling:
    return row["name"], row["job_key"], row["event"]


async def nothing_is_open(harness: Harness) -> bool:
    return not await harness.value(_OPEN)


async def doubts_without_a_letter(harness: Harness) -> list[Telling]:
    rows = await harness.rows(f"{_NOTICES} where d.state = 'unconfirmed'")
    return [_telling(row) for row in rows if not row["has_letter"]]
