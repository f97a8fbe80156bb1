"""Upkeep of the logs as a part of the node: the periodic jobs and the task of the cleaner.

It starts when all replicas exist, so that nothing is compacted or deleted before.
"""

from typing import Final

from trio_kafka.broker.jobs import add_jobs
from trio_kafka.broker.node import Node, Part, Stage, tasks_end
from trio_kafka.log.cleaner.log_cleaner import LogCleaner
from trio_kafka.log.manager.disk_space import DiskSpace
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.metadata.effective import DynamicSettings
from trio_kafka.periodic_jobs import Scheduler

_CLEANER: Final = "log-cleaner"


async def _open(node: Node) -> DiskSpace:
    dynamic = node[DynamicSettings]
    space = add_jobs(node[Scheduler], node.config, node[LogManager], current=lambda: dynamic.config)
    await node.tasks.start(_CLEANER, node[LogCleaner].run)
    return space


UPKEEP: Final = Part(
    kind=DiskSpace, open=_open, stops={Stage.SCHEDULER: tasks_end(_CLEANER)}, step="upkeep"
)
