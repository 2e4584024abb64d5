"""Structured logs (O3): JSON lines for machines, colours for a terminal."""

import logging
import re
import sys
from collections.abc import MutableMapping
from io import StringIO
from typing import TYPE_CHECKING, Any, TextIO

from fascicle.process.correlation_id import current_correlation_id
from fascicle.process.repeated_lines import RepeatedLines

if TYPE_CHECKING:  # imported at the first log line: the import takes longer than a whole command should
    import structlog

# The fields that the SDK attaches to its own lines, and the names of those that we keep.
_TEMPORAL = ("temporal_workflow", "temporal_activity")
_NAMES = ("workflow_id", "workflow_type", "activity_type", "task_queue", "attempt")
_OURS = ("fascicle", "activities", "workflows", "starter", "simulator", "temporalio")
# At DEBUG, libraries log addresses and headers with secrets in them: only our own lines go below INFO.
_LIBRARIES = logging.INFO
_QUIET = ("httpx", "httpcore", "urllib3", "requests", "alembic", "uvicorn.error", "uvicorn.access", "asyncio")
# Its lines show the beginning and the end of secrets. The notifier reads them instead.
_SILENT = "apprise"
# A terminal obeys these characters; a line break would start a forged line.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

_at_first_use: tuple[str, str] | None = None


def configure_logs(level: str, log_format: str) -> None:
    """Called once by an entry point. `auto` means colours when a person is watching."""
    import structlog

    console = log_format == "console" or (log_format == "auto" and sys.stderr.isatty())
    # Plain: Rich's tracebacks show local variables, and some of those are tokens.
    for_people = structlog.dev.ConsoleRenderer(exception_formatter=_traceback)
    renderers: list[Any] = [_visible_event, for_people] if console else [structlog.processors.JSONRenderer()]
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
        # The level is checked first: most lines are DEBUG, and rendering one costs more than a small job.
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
    processors = [structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderers]
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(processors=processors, foreign_pre_chain=foreign)
    )
    handler.addFilter(RepeatedLines())
    lowest = logging.getLevelNamesMapping()[level]
    logging.basicConfig(level=max(lowest, _LIBRARIES), handlers=[handler], force=True)
    for name in _OURS:
        logging.getLogger(name).setLevel(lowest)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.getLogger(_SILENT).addHandler(logging.NullHandler())
    logging.getLogger(_SILENT).propagate = False


def configure_logs_at_first_use(level: str, log_format: str) -> None:
    """For a command, which seldom logs anything."""
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


def visible(text: str) -> str:
    """Foreign text for a terminal: control characters become visible instead of working."""
    return _CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def _visible_event(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    for name, value in event.items():
        if name != "exc_info":
            event[name] = _visible_value(value)
    # A line of a foreign text must not look like a line of our log.
    event["event"] = str(event.get("event", "")).replace("\n", "\n    ")
    return event


def _visible_value(value: Any) -> Any:
    return value if isinstance(value, int | float | bool | None) else visible(str(value))


def _traceback(sio: TextIO, exc_info: Any) -> None:
    import structlog

    whole = StringIO()
    structlog.dev.plain_traceback(whole, exc_info)
    sio.write(visible(whole.getvalue()))


def _name_as_ours(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Use our names, so that one filter finds all lines of a workflow, ours and the SDK's."""
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
