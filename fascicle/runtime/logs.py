"""Structured logs (O3): JSON lines for machines, colours for a terminal."""

import logging
import sys
from collections.abc import MutableMapping
from typing import Any

import structlog

# What the SDK attaches to its own lines, and what ours call it.
_TEMPORAL = ("temporal_workflow", "temporal_activity")
_NAMES = ("workflow_id", "workflow_type", "activity_type", "task_queue", "attempt")
_QUIET = ("httpx", "httpcore", "apprise", "alembic", "uvicorn.error", "uvicorn.access", "asyncio")


def configure_logs(level: str, log_format: str) -> None:
    """Called once by an entry point. `auto` means colours when a person is watching."""
    console = log_format == "console" or (log_format == "auto" and sys.stderr.isatty())
    # Plain: Rich's tracebacks show local variables, and some of those are tokens.
    for_people = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    renderer: Any = for_people if console else structlog.processors.JSONRenderer()
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
    ]
    if not console:
        shared.append(structlog.processors.format_exc_info)
    structlog.configure(
        # First the level: most lines are DEBUG, and making one up costs more than the work of small jobs.
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    foreign = [*shared, structlog.stdlib.ExtraAdder(allow=_TEMPORAL), _name_as_ours]
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(renderer, foreign_pre_chain=foreign))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)


def _name_as_ours(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """One filter finds the lines of a workflow, whoever wrote them."""
    for given in _TEMPORAL:
        about = event.pop(given, None) or {}
        event.update((name, about[name]) for name in _NAMES if name in about)
    return event


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    logger: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(name)
    return logger
