"""The worker of bare workflows, with the product's own options: `python -m bench.bare_worker`."""

import asyncio
import signal

from temporalio.worker import Worker

from bench.bare_workflows import QUEUE, BareLoop, BareOnce, do_nothing
from fascicle.domain.names import MAIN_QUEUE
from fascicle.settings.settings import Settings
from fascicle.temporal.client import connect
from fascicle.temporal.tuning import worker_options
from fascicle.temporal.workflow_sandbox import Sandbox


async def _work() -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    worker = Worker(
        await connect(Settings().payload),
        task_queue=QUEUE,
        workflows=[BareLoop, BareOnce],
        activities=[do_nothing],
        workflow_runner=Sandbox(),
        **worker_options(Settings(), MAIN_QUEUE),
    )
    async with worker:
        await stop.wait()


if __name__ == "__main__":
    asyncio.run(_work())
