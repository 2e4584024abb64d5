"""Which version of the code gets work: the workers of a task queue, and the version that gets its tasks."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta

from temporalio.api.deployment.v1 import WorkerDeploymentVersion
from temporalio.api.enums.v1 import TaskQueueType, WorkerVersioningMode
from temporalio.api.taskqueue.v1 import PollerInfo, TaskQueue
from temporalio.api.workflowservice.v1 import (
    DescribeTaskQueueRequest,
    SetWorkerDeploymentCurrentVersionRequest,
)
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from fascicle.domain.errors import RetryableError
from fascicle.settings.worker_settings import WorkerSettings

_UNVERSIONED = ("", "")
_SET_CURRENT = "temporal worker deployment set-current-version --deployment-name {} {}"
# A worker is known as a version once its first poll has arrived.
_UNTIL_KNOWN_SECONDS = 30.0


@dataclass(frozen=True)
class QueueState:
    """Versions as (deployment, build); workers without versioning count as ("", "")."""

    workers: tuple[tuple[str, str], ...]
    current: frozenset[tuple[str, str]]
    """The versions that get tasks: the current one, and the one that is being ramped up."""

    def trouble(self) -> str | None:
        """Why nothing runs although there are workers, with a remedy; None: there is no trouble."""
        if not self.workers or self.current & set(self.workers):
            return None
        deployment, build = self.workers[-1]
        there = _said(self.workers[-1])
        if (deployment, build) == _UNVERSIONED:
            name = next(iter(self.current))[0]
            remedy = _SET_CURRENT.format(name, "--unversioned")
        else:
            remedy = _SET_CURRENT.format(deployment, f"--build-id {build}")
        current = ", ".join(sorted(map(_said, self.current)))
        return f"nothing runs: current is {current}, the workers are {there}: {remedy}"


async def queue_state(client: Client, queue: str) -> QueueState:
    described = await client.workflow_service.describe_task_queue(
        DescribeTaskQueueRequest(
            namespace=client.namespace,
            task_queue=TaskQueue(name=queue),
            task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
        ),
        timeout=timedelta(seconds=5),
    )
    info = described.versioning_info
    current = {_version(info.current_deployment_version)}
    if info.ramping_version_percentage:
        current.add(_version(info.ramping_deployment_version))
    return QueueState(tuple(_version_of(poller) for poller in described.pollers), frozenset(current))


async def waits_for_its_turn(client: Client, queue: str, settings: WorkerSettings) -> str | None:
    """Why a worker with these settings gets no work, with a remedy; None: it gets work."""
    if not settings.worker_versioning:
        return None
    try:
        state = await queue_state(client, queue)
    except RPCError:
        return None  # another check reports that Temporal is down
    return QueueState(((settings.deployment_name, settings.build_id),), state.current).trouble()


async def make_current(client: Client, settings: WorkerSettings) -> None:
    """From now on, new workflows and the next steps of running ones go to workers of this version."""
    request = SetWorkerDeploymentCurrentVersionRequest(
        namespace=client.namespace,
        deployment_name=settings.deployment_name,
        build_id=settings.build_id,
        identity=client.identity,
        ignore_missing_task_queues=True,
    )
    deadline = asyncio.get_running_loop().time() + _UNTIL_KNOWN_SECONDS
    while True:
        try:
            await client.workflow_service.set_worker_deployment_current_version(request)
            return
        except RPCError as error:
            not_yet = error.status in (RPCStatusCode.NOT_FOUND, RPCStatusCode.FAILED_PRECONDITION)
            if not not_yet or asyncio.get_running_loop().time() > deadline:
                raise RetryableError("temporal_down", f"Temporal refused: {error.message}") from error
        await asyncio.sleep(0.2)


async def make_unversioned_current(client: Client, queue: str) -> None:
    """Let workers without a version get work again if a version was current."""
    current = (await queue_state(client, queue)).current
    if _UNVERSIONED in current:
        return
    for deployment, _ in current:
        await client.workflow_service.set_worker_deployment_current_version(
            SetWorkerDeploymentCurrentVersionRequest(
                namespace=client.namespace,
                deployment_name=deployment,
                identity=client.identity,
                ignore_missing_task_queues=True,
            )
        )


def _version_of(poller: PollerInfo) -> tuple[str, str]:
    options = poller.deployment_options
    if options.worker_versioning_mode != WorkerVersioningMode.WORKER_VERSIONING_MODE_VERSIONED:
        return _UNVERSIONED
    return options.deployment_name, options.build_id


def _version(version: WorkerDeploymentVersion) -> tuple[str, str]:
    return version.deployment_name, version.build_id


def _said(version: tuple[str, str]) -> str:
    return "unversioned" if version == _UNVERSIONED else ".".join(version)
