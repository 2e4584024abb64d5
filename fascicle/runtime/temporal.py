"""The Temporal client: connected by the SDK's own environment configuration, speaking pydantic."""

import asyncio
import re
from datetime import timedelta

from google.protobuf.duration_pb2 import Duration
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.namespace.v1 import NamespaceConfig
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, ListSearchAttributesRequest
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest, UpdateNamespaceRequest
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.envconfig import ClientConfig
from temporalio.runtime import PrometheusConfig, Runtime, TelemetryConfig
from temporalio.service import RPCError, RPCStatusCode

from fascicle.domain.errors import PermanentError, RetryableError
from fascicle.domain.names import SEARCH_ATTRIBUTES


def metrics_runtime(bind_address: str) -> Runtime:
    """A runtime whose Prometheus endpoint shows the SDK's metrics and ours. One per process."""
    return Runtime(
        telemetry=TelemetryConfig(
            metrics=PrometheusConfig(
                bind_address=bind_address, counters_total_suffix=True, durations_as_seconds=True
            )
        )
    )


def names_a_server() -> bool:
    """Does the environment (or a Temporal profile file) say where Temporal is?"""
    return bool(ClientConfig.load_client_connect_config().get("target_host"))


async def connect(*, runtime: Runtime | None = None) -> Client:
    """A client of TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TLS and profile files alike."""
    config = ClientConfig.load_client_connect_config()
    config["target_host"] = target = config.get("target_host") or "localhost:7233"
    try:
        async with asyncio.timeout(10):
            return await Client.connect(**config, data_converter=pydantic_data_converter, runtime=runtime)
    except (RuntimeError, TimeoutError, OSError) as error:
        raise RetryableError(
            "temporal_down", f"Temporal at {target} cannot be reached: {_reason(error)}"
        ) from error


def _reason(error: BaseException) -> str:
    """The sentence inside the transport's wrappings."""
    said = str(error).splitlines()[0] if str(error) else "no answer"
    quoted = re.search(r'message: "([^"]+)"', said)
    return quoted[1] if quoted else said[:200]


async def check_namespace(client: Client) -> None:
    try:
        await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=client.namespace))
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND:
            raise RetryableError("temporal_down", f"Temporal refused: {error.message}") from error
        raise PermanentError(
            "unknown_namespace",
            f"Temporal has no namespace {client.namespace!r}: create it, or correct TEMPORAL_NAMESPACE.",
        ) from error


async def is_serving(client: Client) -> bool:
    try:
        return await client.service_client.check_health(timeout=timedelta(seconds=2))
    except RPCError:
        return False


async def keep_history(client: Client, days: int) -> None:
    """How long closed workflows stay visible; the dev server's own default is a day."""
    await client.workflow_service.update_namespace(
        UpdateNamespaceRequest(
            namespace=client.namespace,
            config=NamespaceConfig(workflow_execution_retention_ttl=Duration(seconds=days * 86400)),
        )
    )


async def register_search_attributes(client: Client) -> list[str]:
    """Register what is missing of our search attributes; returns those added. Repeatable."""
    namespace = client.namespace
    existing = await client.operator_service.list_search_attributes(
        ListSearchAttributesRequest(namespace=namespace)
    )
    missing = [name for name in SEARCH_ATTRIBUTES if name not in existing.custom_attributes]
    for name in missing:
        await _add_attribute(client, name)
    return missing


async def _add_attribute(client: Client, name: str) -> None:
    try:
        await client.operator_service.add_search_attributes(
            AddSearchAttributesRequest(
                namespace=client.namespace,
                search_attributes={name: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD},
            )
        )
    except RPCError as error:
        if error.status != RPCStatusCode.ALREADY_EXISTS:  # somebody else was faster
            raise
