import trio

from tests.log.kit import append, batch
from tests.log.managers import T0, TOPIC_ID, format_directory, started
from trio_kafka.log.config import LogConfig
from trio_kafka.log.manager.maintenance import retain_all, sync_due


async def test_logs_are_synced_when_flush_ms_is_over(autojump_clock, world):
    await format_directory(world, "/data")
    manager = await started(world)
    log = manager.create(T0, TOPIC_ID, LogConfig(flush_ms=500))
    append(log, batch())
    await sync_due(manager)
    assert log.recovery_point == 0

    await trio.sleep(0.6)
    await sync_due(manager)

    assert log.recovery_point == 1


async def test_retention_goes_over_every_log(autojump_clock, world):
    await format_directory(world, "/data")
    config = LogConfig(segment_bytes=200, retention_bytes=0)
    manager = await started(world, config=config)
    log = manager.create(T0, TOPIC_ID, config)
    for _ in range(6):
        append(log, batch())

    assert await retain_all(manager) > 0
    assert log.start_offset > 0
