"""The Temporal client: connected by the SDK's own environment configuration, with pydantic's converter.

Payloads are encrypted if there are keys (docs/encryption.md).
"""

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta

from google.protobuf.duration_pb2 import Duration
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.namespace.v1 import NamespaceConfig
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, ListSearchAttributesRequest
from temporalio.api.workflowservice.v1 import (
    DescribeNamespaceRequest,
    RegisterNamespaceRequest,
    UpdateNamespaceRequest,
)
from temporalio.client import Client, Interceptor
from temporalio.common import HeaderCodecBehavior
from temporalio.envconfig import ClientConfig
from temporalio.runtime import PrometheusConfig, Runtime, TelemetryConfig
from temporalio.service import RPCError, RPCStatusCode

from fascicle.domain.errors import PermanentError, RetryableError
from fascicle.domain.names import SEARCH_ATTRIBUTES
from fascicle.settings.payload_keys import PayloadKeys
from fascicle.temporal.correlation import CorrelationInterceptor
from fascicle.temporal.payload_codec import data_converter

# The answers of a server that lets only its owners do such things: Temporal Cloud, or one with an authorizer.
_NOT_OURS_TO_DO = (
    RPCStatusCode.PERMISSION_DENIED,
    RPCStatusCode.UNIMPLEMENTED,
    RPCStatusCode.UNAUTHENTICATED,
)
# The server's parts learn of a new namespace within some seconds: the interval and the number of looks.
_LOOK_SECONDS = 0.2
_LOOKS = 300
# The server knows a worker by its heartbeats, and ends the polls of a stopping worker only if it knows it.
_WORKERS_REPORT = timedelta(seconds=2)


def metrics_runtime(bind_address: str, buckets: Mapping[str, Sequence[float]] | None = None) -> Runtime:
    """A runtime whose Prometheus endpoint shows the SDK's metrics and ours. One per process."""
    return Runtime(
        telemetry=TelemetryConfig(
            metrics=PrometheusConfig(
                bind_address=bind_address,
                counters_total_suffix=True,
                durations_as_seconds=True,
                histogram_bucket_overrides=buckets,
            )
        ),
        worker_heartbeat_interval=_WORKERS_REPORT,
    )


async def connect(
    keys: PayloadKeys, *, runtime: Runtime | None = None, interceptors: Sequence[Interceptor] = ()
) -> Client:
    """A client set up by TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TLS and profile files."""
    config = ClientConfig.load_client_connect_config()
    config["target_host"] = target = config.get("target_host") or "localhost:7233"
    try:
        async with asyncio.timeout(10):
            return await Client.connect(
                **config,
                data_converter=data_converter(keys),
                header_codec_behavior=HeaderCodecBehavior.CODEC,
                runtime=runtime,
                interceptors=[CorrelationInterceptor(), *interceptors],
            )
    except (RuntimeError, TimeoutError, OSError) as error:
        raise RetryableError(
            "temporal_down", f"Temporal at {target} cannot be reached: {_reason(error)}"
        ) from error


def _reason(error: BaseException) -> str:
    """The sentence inside the transport's error message."""
    said = str(error).splitlines()[0] if str(error) else "no answer"
    quoted = re.search(r'message: "([^"]+)"', said)
    return quoted[1] if quoted else said[:200]


async def check_namespace(client: Client) -> int:
    """Returns how many days the namespace keeps closed workflows; raises if there is no such namespace."""
    try:
        described = await client.workflow_service.describe_namespace(
            DescribeNamespaceRequest(namespace=client.namespace)
        )
    except RPCError as error:
        if error.status in _NOT_OURS_TO_DO:
            raise PermanentError(
                "temporal_not_allowed",
                f"Temporal does not let us in ({error.message}): check TEMPORAL_NAMESPACE (on Temporal Cloud "
                "name.account) and TEMPORAL_API_KEY or the TLS certificate.",
            ) from error
        if error.status != RPCStatusCode.NOT_FOUND:
            raise RetryableError("temporal_down", f"Temporal refused: {error.message}") from error
        raise PermanentError(
            "unknown_namespace",
            f"Temporal has no namespace {client.namespace!r}: correct TEMPORAL_NAMESPACE, or create it with "
            "`fascicle setup --create-namespace`.",
        ) from error
    return described.config.workflow_execution_retention_ttl.seconds // 86400


async def create_namespace(client: Client, days: int) -> bool:
    """Create the client's namespace if it is missing, wait until it can be used. Returns whether we did."""
    request = RegisterNamespaceRequest(
        namespace=client.namespace,
        description="Fascicle",
        workflow_execution_retention_period=_days(days),
    )
    with done_elsewhere(f"create the namespace {client.namespace!r} there, then set TEMPORAL_NAMESPACE"):
        try:
            await client.workflow_service.register_namespace(request)
        except RPCError as error:
            if error.status != RPCStatusCode.ALREADY_EXISTS:
                raise
            return False
    for _ in range(_LOOKS):
        if await _is_known_everywhere(client):
            return True
        await asyncio.sleep(_LOOK_SECONDS)
    raise RetryableError("namespace_new", f"The new namespace {client.namespace!r} cannot be used yet.")


async def _is_known_everywhere(client: Client) -> bool:
    try:
        await _search_attributes(client)
        # This asks the history service, which learns of the namespace last.
        await client.get_workflow_handle("there-is-none").describe()
    except RPCError as error:
        return error.status == RPCStatusCode.NOT_FOUND and "namespace" not in error.message.lower()
    return True


@contextmanager
def done_elsewhere(advice: str) -> Iterator[None]:
    """Turn the refusal of a server that lets only its owners do this into an error with advice for them."""
    try:
        yield
    except RPCError as error:
        if error.status not in _NOT_OURS_TO_DO:
            raise
        raise PermanentError(
            "temporal_not_allowed",
            f"Temporal does not let us ({error.message}). On Temporal Cloud, {advice}.",
        ) from error


async def is_serving(client: Client) -> bool:
    try:
        return await client.service_client.check_health(timeout=timedelta(seconds=2))
    except RPCError:
        return False


async def keep_history(client: Client, days: int) -> None:
    """Set how long closed workflows stay visible; the dev server's own default is a day."""
    request = UpdateNamespaceRequest(
        namespace=client.namespace,
        config=NamespaceConfig(workflow_execution_retention_ttl=_days(days)),
    )
    advice = f"set the namespace's retention to {days} days there, and leave FASCICLE_HISTORY_DAYS unset"
    with done_elsewhere(advice):
        await client.workflow_service.update_namespace(request)


def _days(count: int) -> Duration:
    return Duration(seconds=count * 86400)


async def register_search_attributes(client: Client) -> list[str]:
    """Register our search attributes that are missing; returns those added. Repeatable."""
    missing = await missing_search_attributes(client)
    with done_elsewhere(
        f"add the search attributes {', '.join(missing)}, each a Keyword, to the namespace there"
    ):
        for name in missing:
            await _add_attribute(client, name)
    return missing


async def missing_search_attributes(client: Client) -> list[str]:
    existing = await _search_attributes(client)
    return [name for name in SEARCH_ATTRIBUTES if name not in existing]


async def _search_attributes(client: Client) -> set[str]:
    listed = await client.operator_service.list_search_attributes(
        ListSearchAttributesRequest(namespace=client.namespace)
    )
    return set(listed.custom_attributes)


async def _add_attribute(client: Client, name: str) -> None:
    try:
        await client.operator_service.add_search_attributes(
            AddSearchAttributesRequest(
                namespace=client.namespace,
                search_attributes={name: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD},
            )
        )
    except RPCError as error:
        if error.status != RPCStatusCode.ALREADY_EXISTS:  # another process was faster
            raise
