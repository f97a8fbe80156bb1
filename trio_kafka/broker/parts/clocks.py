"""Tasks that wait for time on behalf of other parts: periodic jobs and the timers of requests."""

from typing import Final

from trio_kafka.broker.node import Node, Part, Stage, tasks_end
from trio_kafka.periodic_jobs import Scheduler
from trio_kafka.purgatory import Timers

_STEP: Final = "scheduler"


async def _open_scheduler(node: Node) -> Scheduler:
    scheduler = Scheduler(node.tree)
    await node.tasks.start("scheduler", scheduler.run)
    return scheduler


async def _open_timers(node: Node) -> Timers:
    timers = Timers(node.tree)
    await node.tasks.start("timers", timers.run)
    return timers


SCHEDULER: Final = Part(
    kind=Scheduler,
    open=_open_scheduler,
    stops={Stage.SCHEDULER: tasks_end("scheduler")},
    step=_STEP,
)
# Parked requests need their timers until the replicas stop.
TIMERS: Final = Part(
    kind=Timers, open=_open_timers, stops={Stage.REPLICATION: tasks_end("timers")}, step=_STEP
)
