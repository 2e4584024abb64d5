"""For `fascicle doctor`: asks the worker of this machine whether it keeps up with its workflows."""

import asyncio
import json
from urllib.parse import urlsplit

from fascicle.settings.settings import Settings
from fascicle.web.probe import ask

# A few are harmless: a workflow that was terminated during a step counts too.
_HARMLESS = 5


async def late_workflow_tasks(stack: dict[str, str | int] | None, settings: Settings) -> int | None:
    """How many workflow tasks timed out in the last ten minutes; None: no worker answers here."""
    port = urlsplit(str(stack["ops"])).port if stack and "ops" in stack else None
    _, said = await asyncio.to_thread(ask, port or settings.ops_port, "/ready")
    try:
        return int(json.loads(said)["workflow_tasks_timed_out"])
    except (ValueError, KeyError, TypeError):
        return None


def keeps_up(late: int) -> tuple[bool, str]:
    """Whether the number is acceptable, and a sentence about it."""
    if not late:
        return True, "each is done in time"
    return late <= _HARMLESS, (
        f"{late} took longer than Temporal waits, in the last ten minutes, and were done again: "
        "start another worker, or lower FASCICLE_MAX_CONCURRENT_WORKFLOW_TASKS"
    )
