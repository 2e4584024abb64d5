"""Seeing to it that a post, a fic, an item or a request has its workflow, and that it looks at its row."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel
from temporalio.client import Client
from temporalio.common import (
    Priority,
    SearchAttributeKey,
    SearchAttributePair,
    TypedSearchAttributes,
    WorkflowIDReusePolicy,
)
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError

from fascicle.domain.fic import FicRef
from fascicle.domain.harmless_text import for_web_ui
from fascicle.domain.names import (
    LOOK_AGAIN_SIGNAL,
    MAIN_QUEUE,
    enrich_workflow_id,
    fic_workflow_id,
    publish_workflow_id,
    request_workflow_id,
)
from fascicle.domain.urls import page_host, place

# Temporal takes no longer ones: in bytes.
_LONGEST_FAIRNESS_KEY = 64


class PublishInput(BaseModel):
    post_id: str
    retry: bool = False
    """What failed is tried again."""
    looks: int = 0
    checked: bool = False
    """What an earlier run of the workflow had done."""


async def look_after_post(client: Client, post_id: str, *, title: str, account_id: str) -> None:
    """Start the post's workflow or, if it runs, have it look at its row again. Repeatable.

    The row decides what happens: a workflow of a post that needs nothing ends at once.
    """
    await client.start_workflow(
        "PublishPostWorkflow",
        PublishInput(post_id=post_id),
        id=publish_workflow_id(post_id),
        task_queue=MAIN_QUEUE,
        id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
        start_signal=LOOK_AGAIN_SIGNAL,
        static_summary=for_web_ui(title),
        priority=Priority(priority_key=2, fairness_key=account_id),
        search_attributes=_site("deviantart"),
    )


class FicInput(BaseModel):
    """A fic's normal form: what its workflow is about."""

    ref: FicRef


async def look_after_fic(client: Client, ref: FicRef) -> None:
    """Start the fic's workflow or, if it runs, have it look at its row again. Repeatable."""
    await client.start_workflow(
        "ParseFicWorkflow",
        FicInput(ref=ref),
        id=fic_workflow_id(ref.key),
        task_queue=MAIN_QUEUE,
        id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
        start_signal=LOOK_AGAIN_SIGNAL,
        static_summary=ref.url[:200],
        priority=fic_priority(ref),
        search_attributes=fic_attributes(ref),
    )


def fic_priority(ref: FicRef) -> Priority:
    """The highest: somebody waits. Among equals the sites take turns."""
    return Priority(priority_key=1, fairness_key=fairness_key(ref.site))


def fic_attributes(ref: FicRef) -> TypedSearchAttributes:
    return _site(ref.site)


class EnrichItemInput(BaseModel):
    item_id: int
    title: str = ""
    """What the Web UI calls it."""
    host: str = ""
    """Of its page: the hosts take turns."""


def enrich_input(row: Mapping[str, Any]) -> EnrichItemInput:
    """Of a row with id, title and url."""
    return EnrichItemInput(item_id=row["id"], title=row["title"][:200], host=page_host(row["url"]))


async def look_after_items(client: Client, items: Sequence[EnrichItemInput]) -> list[EnrichItemInput]:
    """Start the enrichment of each. Returns those that Temporal did not take now: somebody else must try."""
    left = []
    for item in items:
        try:
            await look_after_item(client, item, eager=True)
        except RPCError:
            left.append(item)
    return left


async def look_after_item(client: Client, item: EnrichItemInput, *, eager: bool = False) -> bool:
    """Start the item's enrichment. False: it is going on, and goes on.

    `eager`: this process may have its first task at once, if it serves the queue.
    """
    try:
        await client.start_workflow(
            "EnrichItemWorkflow",
            item,
            id=enrich_workflow_id(item.item_id),
            task_queue=MAIN_QUEUE,
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
            static_summary=for_web_ui(item.title),
            priority=enrich_priority(item),
            search_attributes=_site(item.host) if item.host else None,
            request_eager_start=eager,
        )
    except WorkflowAlreadyStartedError:
        return False
    return True


class SummarizeInput(BaseModel):
    request_id: str
    correlation_id: str
    url: str = ""
    """What the Web UI calls it."""
    round: int = 1
    """How often it has been asked for: whoever cancels means this one."""


async def look_after_request(client: Client, request: SummarizeInput) -> None:
    """Start the request's workflow or, if it runs, have it look at its row again. Repeatable."""
    await client.start_workflow(
        "SummarizeWorkflow",
        request,
        id=request_workflow_id(request.request_id),
        task_queue=MAIN_QUEUE,
        id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
        start_signal=LOOK_AGAIN_SIGNAL,
        **request_options(request),
    )


def request_input(row: Mapping[str, Any]) -> SummarizeInput:
    """Of a row with id, url, correlation_id and round."""
    return SummarizeInput(
        request_id=row["id"],
        correlation_id=row["correlation_id"],
        url=place(row["url"])[:200],
        round=row["round"],
    )


def request_options(request: SummarizeInput) -> dict[str, Any]:
    host = page_host(request.url)
    return {
        "static_summary": for_web_ui(request.url),
        "priority": request_priority(request),
        "search_attributes": _keywords({"Site": host, "CorrelationId": request.correlation_id}),
    }


def request_priority(request: SummarizeInput) -> Priority:
    """The highest: somebody waits. Five hundred feeds that are due wait beside them, not before them."""
    return Priority(priority_key=1, fairness_key=fairness_key(page_host(request.url)))


def fairness_key(name: str) -> str | None:
    """Whose turn it is. Some hosts have long names."""
    return name.encode()[:_LONGEST_FAIRNESS_KEY].decode("utf-8", "ignore") or None


def enrich_priority(item: EnrichItemInput) -> Priority:
    """The lowest: whatever else there is to do, somebody may be waiting for."""
    return Priority(priority_key=5, fairness_key=fairness_key(item.host))


def _site(name: str) -> TypedSearchAttributes:
    return _keywords({"Site": name})


def _keywords(attributes: Mapping[str, str]) -> TypedSearchAttributes:
    return TypedSearchAttributes(
        [
            SearchAttributePair(SearchAttributeKey.for_keyword(name), value)
            for name, value in attributes.items()
            if value
        ]
    )
