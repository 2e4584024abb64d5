"""The smallest workflows that work like a source: wait, then execute an activity."""

from datetime import timedelta

from temporalio import activity, workflow

QUEUE = "bare"
_TIMEOUT = timedelta(seconds=30)


@activity.defn
async def do_nothing() -> None:
    pass


@workflow.defn
class BareLoop:
    """Executes an activity as often as a source is polled."""

    @workflow.run
    async def run(self, seconds: float) -> None:
        for _ in range(300):
            await workflow.sleep(seconds)
            await workflow.execute_activity(do_nothing, start_to_close_timeout=_TIMEOUT)


@workflow.defn
class BareOnce:
    @workflow.run
    async def run(self) -> None:
        await workflow.execute_activity(do_nothing, start_to_close_timeout=_TIMEOUT)
