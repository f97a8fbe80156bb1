"""The log file of a pipeline."""

from typing import Any

import pytest
from trio.testing import MockClock

from trio_kafka.introspect.log import get_logger
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.simulated.world import SimulatedWorld
from trio_kafka_builtin.pipelines.log_file import LogFile


def new_log_file(world: SimulatedWorld, most: int = 100) -> LogFile:
    return LogFile(
        world.directory("/logs", create=True), "p", most_bytes=most, logger=get_logger("test")
    )


async def read(world: SimulatedWorld, name: str) -> bytes:
    file = world.directory("/logs").open(name)
    content = bytearray(file.size)
    await file.read(0, content)
    file.close()
    return bytes(content)


async def test_a_full_log_file_is_rotated_and_one_old_file_is_kept(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    log = new_log_file(world)
    for number in range(10):
        await log.write(bytes([65 + number]) * 40)
    log.close()

    assert world.directory("/logs").names() == ["p.log", "p.log.1"]
    assert await read(world, "p.log.1") == b"G" * 40 + b"H" * 40
    assert await read(world, "p.log") == b"I" * 40 + b"J" * 40


async def test_a_large_write_does_not_exceed_the_size_bound_of_a_log_file(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    log = new_log_file(world)
    await log.write(b"x" * 1050)
    log.close()

    sizes = [len(await read(world, name)) for name in ("p.log", "p.log.1")]
    assert sizes == [50, 100]


async def test_a_restart_appends_to_the_same_log_file(autojump_clock: MockClock) -> None:
    world = simulated_world()
    for word in (b"one ", b"two ", b"x" * 95):
        log = new_log_file(world)
        await log.write(word)
        log.close()
        log.close()

    assert await read(world, "p.log.1") == b"one two "
    assert await read(world, "p.log") == b"x" * 95


async def test_a_disk_error_disables_the_log_file_and_is_logged_once(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    world = simulated_world()
    log = new_log_file(world)
    await log.write(b"one")

    def full(machine: str, call: str, target: str) -> Any:
        return OSError(28, "no space left") if target.endswith("p.log") else None

    world.universe.fault = full
    await log.write(b"two")
    await log.write(b"three")

    assert [record.getMessage() for record in caplog.records].count("pipeline log failed") == 1
    log.close()


async def test_a_log_file_without_a_directory_ignores_writes(autojump_clock: MockClock) -> None:
    log = LogFile(None, "p", most_bytes=100, logger=get_logger("test"))
    await log.write(b"x")
    log.close()
