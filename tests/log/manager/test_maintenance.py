import trio

from tests.log.kit import append, batch
from tests.log.managers import T0, T1, TOPIC_ID, format_directory, started
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


async def test_retention_removes_segments_beyond_retention_bytes(autojump_clock, world):
    await format_directory(world, "/data")
    config = LogConfig(segment_bytes=200, retention_bytes=0)
    manager = await started(world, config=config)
    log = manager.create(T0, TOPIC_ID, config)
    for _ in range(6):
        append(log, batch())

    assert await retain_all(manager) > 0
    assert log.start_offset > 0


async def test_restart_does_not_prolong_retention_of_records_without_timestamps(
    autojump_clock, world
):
    await format_directory(world, "/data")
    config = LogConfig(segment_bytes=300, retention_ms=100_000)
    manager = await started(world, config=config)
    log = manager.create(T0, TOPIC_ID, config)
    for _ in range(20):
        append(log, batch())

    for _ in range(2):  # two starts, 60 s apart
        await trio.sleep(60)
        await manager.close()
        manager = await started(world, config=config)
    (log,) = manager.logs
    await retain_all(manager)

    assert log.start_offset == log.end_offset == 20


async def test_retention_of_a_deleted_log_ends_and_the_next_log_is_retained(autojump_clock, world):
    await format_directory(world, "/data")
    config = LogConfig(segment_bytes=200, retention_bytes=0)
    manager = await started(world, config=config)
    logs = [manager.create(at, TOPIC_ID, config) for at in (T0, T1)]
    for log in logs:
        for _ in range(6):
            append(log, batch())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(retain_all, manager)
        while logs[0].writer.claim is None:
            await trio.sleep(0.00001)
        claim = logs[0].writer.claim
        manager.delete(T0)

    assert claim.revoked == "the log was closed"
    assert claim.ended.is_set()
    assert logs[1].start_offset > 0
