"""Translates the settings of workers into the SDK's options: slots, pollers, cache, version."""

from typing import Any

from temporalio.common import VersioningBehavior, WorkerDeploymentVersion
from temporalio.worker import (
    CustomSlotSupplier,
    FixedSizeSlotSupplier,
    PollerBehaviorAutoscaling,
    ResourceBasedSlotConfig,
    ResourceBasedSlotSupplier,
    ResourceBasedTunerConfig,
    WorkerDeploymentConfig,
    WorkerTuner,
)

from fascicle.domain.names import PUBLISH_QUEUE
from fascicle.settings.worker_settings import WorkerSettings

# Nexus is not used, but the SDK requires a number.
_NEXUS_SLOTS = FixedSizeSlotSupplier(1)
# The SDK's advice: memory cannot be taken back from a task, CPU can.
_TARGETS = ResourceBasedTunerConfig(target_memory_usage=0.8, target_cpu_usage=0.9)
_POLLERS_AT_FIRST = 5


def worker_options(
    settings: WorkerSettings,
    queue: str,
    *,
    activity_slots: CustomSlotSupplier | None = None,
    workflow_slots: CustomSlotSupplier | None = None,
) -> dict[str, Any]:
    """Arguments of the worker of one task queue; slots that are given replace those of the settings."""
    slots = settings.activity_slots(queue)
    return {
        "deployment_config": _deployment(settings),
        "max_cached_workflows": settings.max_cached_workflows,
        "tuner": _tuner(settings, queue, activity_slots, workflow_slots),
        "workflow_task_poller_behavior": _pollers(
            min(settings.max_pollers, settings.max_concurrent_workflow_tasks)
        ),
        # A worker without a free slot does not poll.
        "activity_task_poller_behavior": _pollers(min(settings.max_pollers, slots)),
    }


def _deployment(settings: WorkerSettings) -> WorkerDeploymentConfig:
    return WorkerDeploymentConfig(
        version=WorkerDeploymentVersion(settings.deployment_name, settings.build_id),
        use_worker_versioning=settings.worker_versioning,
        # Sources run for ever, and no old worker is kept for them: their runs continue with the current code.
        default_versioning_behavior=(
            VersioningBehavior.AUTO_UPGRADE if settings.worker_versioning else VersioningBehavior.UNSPECIFIED
        ),
    )


def _tuner(
    settings: WorkerSettings,
    queue: str,
    activity_slots: CustomSlotSupplier | None,
    workflow_slots: CustomSlotSupplier | None,
) -> WorkerTuner:
    slots = settings.activity_slots(queue)
    fixed = FixedSizeSlotSupplier(slots)
    # The number for publishing is a promise to the site and does not depend on this machine.
    by_resources = settings.worker_slots == "resources" and queue != PUBLISH_QUEUE
    bounds = ResourceBasedSlotConfig(minimum_slots=1, maximum_slots=slots)
    return WorkerTuner.create_composite(
        workflow_supplier=workflow_slots or FixedSizeSlotSupplier(settings.max_concurrent_workflow_tasks),
        activity_supplier=activity_slots
        or (ResourceBasedSlotSupplier(bounds, _TARGETS) if by_resources else fixed),
        local_activity_supplier=fixed,
        nexus_supplier=_NEXUS_SLOTS,
    )


def _pollers(most: int) -> PollerBehaviorAutoscaling:
    return PollerBehaviorAutoscaling(minimum=1, maximum=most, initial=min(_POLLERS_AT_FIRST, most))
