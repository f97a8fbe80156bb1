"""How long periodic work on the logs has nothing to do."""

from math import inf

import trio

from tests.log.kit import append, batch
from tests.log.managers import T0, TOPIC_ID, format_directory, started
from trio_kafka.log.config import LogConfig
from trio_kafka.log.files.checkpoints import HIGH_WATERMARKS, RECOVERY_POINTS, START_OFFSETS
from trio_kafka.log.manager.idle_upkeep import (
    checkpoint_idle_s,
    flush_idle_s,
    producers_idle_s,
    retention_idle_s,
)
from trio_kafka.log.manager.maintenance import retain_all, sync_due, write_checkpoints


async def manager_with_log(world, **settings):
    await format_directory(world, "/data")
    manager = await started(world)
    return manager, manager.create(T0, TOPIC_ID, LogConfig(**settings))


async def test_retention_is_idle_until_the_first_segment_is_too_old(autojump_clock, world):
    manager, log = await manager_with_log(world, retention_ms=60_000)
    assert retention_idle_s(manager) == inf
    append(log, batch(timestamp=log.now_ms()))
    log.high_watermark = log.end_offset

    idle_s = retention_idle_s(manager)
    assert 59 < idle_s <= 60.001
    await trio.sleep(idle_s - 0.01)
    assert await retain_all(manager) == 0
    await trio.sleep(0.02)
    assert retention_idle_s(manager) == 0
    assert await retain_all(manager) == 1
    assert retention_idle_s(manager) == inf


async def test_retention_has_work_while_a_log_is_too_large(autojump_clock, world):
    manager, log = await manager_with_log(world, segment_bytes=200, retention_bytes=0)
    for _ in range(6):
        append(log, batch(timestamp=log.now_ms()))
    log.high_watermark = log.end_offset

    assert retention_idle_s(manager) == 0
    await retain_all(manager)
    assert 0 < retention_idle_s(manager) <= inf


async def test_retention_has_work_while_a_segment_is_below_the_start_offset(autojump_clock, world):
    manager, log = await manager_with_log(world, cleanup_policy=("delete",), retention_ms=-1)
    append(log, batch(timestamp=log.now_ms()))
    log.high_watermark = log.end_offset
    assert retention_idle_s(manager) == inf

    log.set_start_offset(log.end_offset)

    assert retention_idle_s(manager) == 0
    await retain_all(manager)
    assert retention_idle_s(manager) == inf


async def test_retention_has_no_work_for_a_compacted_log(autojump_clock, world):
    manager, log = await manager_with_log(world, cleanup_policy=("compact",), retention_ms=1)
    append(log, batch(timestamp=log.now_ms() - 1000))

    assert retention_idle_s(manager) == inf


async def test_checkpoint_task_is_idle_until_its_offsets_change(autojump_clock, world):
    manager, log = await manager_with_log(world)
    for name in (RECOVERY_POINTS, HIGH_WATERMARKS, START_OFFSETS):
        await write_checkpoints(manager, name)
        assert checkpoint_idle_s(manager, name) == inf

    append(log, batch())
    log.high_watermark = log.end_offset

    assert checkpoint_idle_s(manager, RECOVERY_POINTS) == inf
    assert checkpoint_idle_s(manager, HIGH_WATERMARKS) == 0
    log.set_start_offset(log.end_offset)
    assert checkpoint_idle_s(manager, START_OFFSETS) == 0
    await write_checkpoints(manager)
    for name in (RECOVERY_POINTS, HIGH_WATERMARKS, START_OFFSETS):
        assert checkpoint_idle_s(manager, name) == inf


async def test_flush_is_due_after_flush_ms_if_a_log_has_unsynced_records(autojump_clock, world):
    manager, log = await manager_with_log(world, flush_ms=500)
    assert flush_idle_s(manager) == inf
    append(log, batch())

    assert 0 < flush_idle_s(manager) <= 0.5
    await trio.sleep(0.6)
    assert flush_idle_s(manager) == 0
    await sync_due(manager)
    assert flush_idle_s(manager) == inf


async def test_producer_expiry_is_idle_until_the_first_producer_expires(autojump_clock, world):
    manager, log = await manager_with_log(world)
    assert producers_idle_s(manager, 60_000) == inf

    append(log, batch(timestamp=log.now_ms(), producer_id=7, producer_epoch=0, base_sequence=0))

    assert 59 < producers_idle_s(manager, 60_000) <= 60
    await trio.sleep(61)
    assert producers_idle_s(manager, 60_000) == 0
