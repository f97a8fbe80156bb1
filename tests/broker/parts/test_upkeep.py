"""Upkeep of the logs as a part: its jobs, and the task of the cleaner."""

from tests.broker.kit import APIS, config_of
from trio_kafka.broker import Broker
from trio_kafka.log.manager.disk_space import DiskSpace


async def test_started_broker_schedules_log_jobs_and_runs_the_cleaner(
    world, autojump_clock
) -> None:
    async with Broker(config_of(), world, format_if_empty=True, apis=APIS) as broker:
        names = {status.name for status in broker.parts.scheduler.statuses}

        assert {"kafka-log-retention", "kafka-delete-logs", "trio-disk-space"} <= names
        assert broker.tasks.runs("log-cleaner")
        assert broker[DiskSpace].figures()

    assert not broker.tasks.runs("log-cleaner")
