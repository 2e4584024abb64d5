"""Traces for a collector, if OpenTelemetry's own variables name one (O3).

`OTEL_EXPORTER_OTLP_ENDPOINT` (or `…_TRACES_ENDPOINT`) switches it on; sampling, headers, names and limits are
the variables that OpenTelemetry documents. A separate thread sends the spans, from a queue that drops spans
that do not fit: a slow or missing collector delays nothing.
"""

import logging
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fascicle.domain.errors import UsageError
from fascicle.process.correlation_id import current_correlation_id
from fascicle.process.logs import get_logger
from fascicle.settings.setting_names import TRACE_ENDPOINTS

if TYPE_CHECKING:  # imported only where it is used, so that it costs nothing without a collector
    from opentelemetry.sdk.trace import TracerProvider
    from temporalio.contrib.opentelemetry import TracingInterceptor


_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_COMPLAINTS_EVERY_SECONDS = 60.0

log = get_logger("fascicle.tracing")


class Tracing:
    """The tracing of one process."""

    def __init__(self, provider: "TracerProvider") -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("fascicle", version("fascicle"))

    def interceptor(self) -> "TracingInterceptor":
        from fascicle.temporal.traced_workflows import BoundedTracingInterceptor

        return BoundedTracingInterceptor(self._tracer)

    @contextmanager
    def span(self, name: str) -> Iterator[None]:
        # An error's message may quote a person's input.
        with self._tracer.start_as_current_span(name, record_exception=False, set_status_on_exception=False):
            yield

    def close(self, seconds: float) -> None:
        """Send the remaining spans, for so long at most: the exporter itself would wait half a minute."""
        closing = threading.Thread(target=self._provider.shutdown, daemon=True)
        closing.start()
        closing.join(seconds)


def open_tracing(service: str, environment: Mapping[str, str] = os.environ) -> Tracing | None:
    """None unless a collector is named. `service`: this process's name, unless OTEL_SERVICE_NAME is set."""
    try:
        return Tracing(_provider(service, environment)) if _is_wanted(environment) else None
    except (UsageError, ValueError) as error:
        # These variables may have been set for other programs: work goes on without traces.
        log.warning("traces_off", error=str(error))
        return None


def _provider(service: str, environment: Mapping[str, str]) -> "TracerProvider":
    """Raises a ValueError if OpenTelemetry does not accept one of its own variables."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    _complain_seldom()
    names = {"service.name": environment.get("OTEL_SERVICE_NAME") or service}
    resource = Resource.create({**names, "service.version": version("fascicle")})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(_named_spans())
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


def _is_wanted(environment: Mapping[str, str]) -> bool:
    variable = next((name for name in TRACE_ENDPOINTS if environment.get(name)), None)
    if variable is None or environment.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return False
    if environment.get("OTEL_TRACES_EXPORTER") == "none":
        return False
    if not _is_address(environment[variable]):
        # The message leaves out the value, which may contain a password.
        raise UsageError("wrong_setting", f"{variable}: must be a URL such as http://collector:4318.")
    protocol = next((environment[name] for name in _PROTOCOLS if environment.get(name)), "http/protobuf")
    if protocol != "http/protobuf":
        raise UsageError(
            "wrong_setting",
            f"OTEL_EXPORTER_OTLP_PROTOCOL: only http/protobuf is spoken here, not {protocol}. "
            "Collectors take it on port 4318.",
        )
    return True


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # brackets that do not match, a port that is no number
        return False


def _named_spans() -> Any:
    from opentelemetry.sdk.trace import SpanProcessor

    class NamedSpans(SpanProcessor):
        """Gives each span the correlation id of its command, like each line of the log."""

        def on_start(self, span: Any, parent_context: Any = None) -> None:
            if correlation_id := current_correlation_id():
                span.set_attribute("correlation_id", correlation_id)

    return NamedSpans()


class _Seldom(logging.Filter):
    """One line a minute about a collector that cannot be reached, instead of one with a stack per batch."""

    def __init__(self) -> None:
        super().__init__()
        self._quiet_until = 0.0

    def filter(self, record: logging.LogRecord) -> bool:
        if time.monotonic() >= self._quiet_until:
            self._quiet_until = time.monotonic() + _COMPLAINTS_EVERY_SECONDS
            log.warning("traces_not_exported", error=record.getMessage()[:300])
        return False


class _WithoutValues(logging.Filter):
    """OpenTelemetry quotes headers that it cannot read, and they may contain tokens."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.args = tuple("(not shown)" for _ in record.args or ())
        return True


def _complain_seldom() -> None:
    seldom = _Seldom()
    for name in (
        "opentelemetry.exporter.otlp.proto.http.trace_exporter",
        "opentelemetry.sdk._shared_internal",
        "opentelemetry.sdk.trace.export",
    ):
        _filter_only(name, seldom)
    _filter_only("opentelemetry.util.re", _WithoutValues())


def _filter_only(name: str, only: logging.Filter) -> None:
    """Replaces an earlier filter of the same type, because a process may open its tracing several times."""
    logger = logging.getLogger(name)
    logger.filters = [one for one in logger.filters if not isinstance(one, type(only))]
    logger.addFilter(only)
