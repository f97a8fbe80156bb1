"""Descriptions of the logs in a directory."""

import trio

from tests.log.managers import T0, T1, TOPIC_ID, format_directory, started
from trio_kafka.log.config import LogConfig
from trio_kafka.log.manager.description import UNKNOWN_SPACE, describe_logs, space_of
from trio_kafka.scheduling.chunked_work import whole


async def test_only_logs_selected_by_the_caller_are_described(world, autojump_clock) -> None:
    await format_directory(world, "/data")
    logs = await started(world)
    for partition in (T0, T1):
        logs.create(partition, TOPIC_ID, LogConfig())

    (result,) = whole(describe_logs(logs, logs.directories[0], lambda at: at == T1))

    assert (result.partition, result.size, result.lag, result.is_future) == (T1, 0, 0, False)


async def test_space_is_unknown_if_the_disk_does_not_answer_within_five_seconds(
    world, autojump_clock
) -> None:
    await format_directory(world, "/data")
    logs = await started(world)
    world.universe.fault = lambda machine, call, target: 60.0 if call == "space" else None

    began = trio.current_time()
    assert await space_of(logs.directories[0]) == UNKNOWN_SPACE
    assert trio.current_time() - began < 5
