"""Finds the keys that payloads in Temporal were encrypted with, in raw histories, without decrypting any."""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.message import Message
from temporalio.api.common.v1 import Payload, WorkflowExecution
from temporalio.api.workflowservice.v1 import GetWorkflowExecutionHistoryRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from fascicle.temporal.payload_codec import is_sealed, key_of

_AT_ONCE = 8


@dataclass
class KeyUse:
    """The ids of the checked workflows, newest first, that have payloads under each key."""

    looked_at: int
    there_are: int
    by_key: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))


async def find_use(client: Client, query: str, most: int | None) -> KeyUse:
    executions = [one async for one in client.list_workflows(query, limit=most)]
    there_are = (await client.count_workflows(query)).count
    use = KeyUse(
        len(executions), max(there_are, len(executions))
    )  # some may have been deleted since they were listed
    slots = asyncio.Semaphore(_AT_ONCE)

    async def look(workflow_id: str, run_id: str) -> None:
        async with slots:
            run = WorkflowExecution(workflow_id=workflow_id, run_id=run_id)
            for key_id in await _keys_of(client, run):
                use.by_key[key_id].append(workflow_id)

    await asyncio.gather(*(look(one.id, one.run_id) for one in executions))
    return use


async def _keys_of(client: Client, execution: WorkflowExecution) -> set[str]:
    asked = GetWorkflowExecutionHistoryRequest(namespace=client.namespace, execution=execution)
    found: set[str] = set()
    while True:
        try:
            page = await client.workflow_service.get_workflow_execution_history(asked)
        except RPCError as error:
            if error.status != RPCStatusCode.NOT_FOUND:  # not found: its retention ended meanwhile
                raise
            return found
        found.update(key_of(payload) for payload in payloads_in(page.history) if is_sealed(payload))
        if not page.next_page_token:
            return found
        asked.next_page_token = page.next_page_token


def payloads_in(message: Message) -> Iterator[Payload]:
    if isinstance(message, Payload):
        yield message
        return
    for descriptor, value in message.ListFields():
        if descriptor.message_type is not None:
            for part in _messages_of(value):
                yield from payloads_in(part)


def _messages_of(value: Any) -> Iterator[Message]:
    """The messages in a field: one, a list, or the values of a map."""
    if isinstance(value, Message):
        yield value
    else:
        parts = value.values() if hasattr(value, "values") else value
        yield from (part for part in parts if isinstance(part, Message))
