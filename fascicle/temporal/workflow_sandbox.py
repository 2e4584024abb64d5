"""The SDK's sandbox, without calls that our converter does not need."""

from typing import Any

from temporalio.converter import SerializationContext, StorageDriverStoreContext
from temporalio.worker import WorkflowInstance, WorkflowInstanceDetails
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner
from temporalio.workflow import Info

_NO_STORE = StorageDriverStoreContext()


class Sandbox(SandboxedWorkflowRunner):
    """For converters and codecs that take no context, and without external storage.

    The SDK enters the sandbox three times for each payload of a task to get its context. That takes an eighth
    of a worker's CPU.
    """

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        return _Instance(super().create_instance(det))


class _Instance(WorkflowInstance):
    def __init__(self, sandboxed: WorkflowInstance) -> None:
        self._sandboxed = sandboxed

    def activate(self, act: Any) -> Any:
        return self._sandboxed.activate(act)

    def get_info(self) -> Info:
        return self._sandboxed.get_info()

    def get_thread_id(self) -> int | None:
        return self._sandboxed.get_thread_id()

    def get_serialization_context(self, command_info: Any) -> SerializationContext | None:
        return None

    def get_external_store_context(self, command_info: Any) -> StorageDriverStoreContext:
        return _NO_STORE
