"""Asking for a fic where Temporal is not always there (F1, X1)."""

from typing import Any, cast

from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from fascicle.domain.fics.fic import FicKind, FicRef, FicView, JobState, Subscription
from fascicle.services.fics.submission import subscribe

REF = FicRef(site="ao3", kind=FicKind.WORK, id="1", url="https://archiveofourown.org/works/1")


class _Stumbling:
    """Answers at the third attempt."""

    def __init__(self) -> None:
        self.wishes: list[str] = []

    async def execute_update_with_start_workflow(self, *_: Any, **options: Any) -> FicView:
        self.wishes.append(options["id"])
        if len(self.wishes) < 3:
            raise RPCError("broken off", RPCStatusCode.UNAVAILABLE, b"")
        return FicView(
            key=REF.key, workflow_id="w", url=REF.url, site="ao3", kind=REF.kind, state=JobState.PENDING
        )


async def test_x1_a_wish_whose_answer_was_lost_is_not_a_second_wish() -> None:
    client = _Stumbling()
    await subscribe(cast(Client, client), REF, Subscription(user="mara", refresh=True))
    assert len(client.wishes) == 3
    assert len(set(client.wishes)) == 1
