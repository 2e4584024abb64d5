"""Structured logs (O3): JSON lines for machines, colours for a terminal."""

import logging
import sys
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any

from fascicle.runtime.correlation_id import current_correlation_id
from fascicle.runtime.repeated_lines import RepeatedLines

if TYPE_CHECKING:  # loaded by the first module that logs: it takes longer than a whole command should
    import structlog

# What the SDK attaches to its own lines, and what ours call it.
_TEMPORAL = ("temporal_workflow", "temporal_activity")
_NAMES = ("workflow_id", "workflow_type", "activity_type", "task_queue", "attempt")
_QUIET = ("httpx", "httpcore", "apprise", "alembic", "uvicorn.error", "uvicorn.access", "asyncio")

_at_first_use: tuple[str, str] | None = None


def configure_logs(level: str, log_format: str) -> None:
    """Called once by an entry point. `auto` means colours when a person is watching."""
    import structlog

    console = log_format == "console" or (log_format == "auto" and sys.stderr.isatty())
    # Plain: Rich's tracebacks show local variables, and some of those are tokens.
    for_people = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    renderer: Any = for_people if console else structlog.processors.JSONRenderer()
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        _with_correlation_id,
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
    handler.addFilter(RepeatedLines())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)


def configure_logs_at_first_use(level: str, log_format: str) -> None:
    """For a command, which seldom has anything to log."""
    global _at_first_use
    if "structlog" in sys.modules:
        configure_logs(level, log_format)
    else:
        _at_first_use = (level, log_format)


def _with_correlation_id(
    _logger: Any, _method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    if correlation_id := current_correlation_id():
        event.setdefault("correlation_id", correlation_id)
    return event


def _name_as_ours(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """One filter finds the lines of a workflow, whoever wrote them."""
    for given in _TEMPORAL:
        about = event.pop(given, None) or {}
        event.update((name, about[name]) for name in _NAMES if name in about)
    return event


def get_logger(name: str) -> "structlog.stdlib.BoundLogger":
    global _at_first_use
    import structlog

    if _at_first_use is not None:
        configure_logs(*_at_first_use)
        _at_first_use = None
    logger: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(name)
    return logger
