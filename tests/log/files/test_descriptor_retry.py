import errno
import os

import pytest
import trio

from tests.log.kit import append, batch, offsets, read_all
from tests.log.managers import IDENTITY, SMALL, T0, T1, TOPIC_ID, format_directory, start, started
from trio_kafka.errors import ErrorCode, KafkaError, LogDirError
from trio_kafka.introspect.tree import Node
from trio_kafka.log.durability.sync import sync
from trio_kafka.log.errors import NoDescriptorError
from trio_kafka.log.files.descriptor_retry import is_exhaustion, names_in, when_free, when_free_now
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.log.manager.maintenance import retain_all, write_checkpoints
from trio_kafka.log.truncate import restart_at, truncate_to

CALLS = ("open", "create", "lock", "names", "sync_directory")


class Exhausted:
    """No descriptor is left until `free`. refused_calls: those that needed one."""

    def __init__(self, world, *calls: str, number: int = errno.EMFILE) -> None:
        self.refused_calls: list[str] = []
        self.free = False
        self._calls = calls or CALLS
        self._number = number
        world.universe.fault = self._fault

    def _fault(self, machine: str, call: str, target: str) -> OSError | None:
        if self.free or call not in self._calls:
            return None
        self.refused_calls.append(call)
        return OSError(self._number, os.strerror(self._number))

    async def end_after(self, seconds: float) -> None:
        await trio.sleep(seconds)
        self.free = True


def test_emfile_and_enfile_are_recognized_as_descriptor_exhaustion() -> None:
    mine, theirs = OSError(errno.EMFILE, "EMFILE"), OSError(errno.ENFILE, "ENFILE")
    wrapped = LogDirError("/data", "EMFILE")
    wrapped.__cause__ = mine

    for error in (mine, theirs, wrapped, NoDescriptorError("x.log")):
        assert is_exhaustion(error)
    for error in (OSError(5, "EIO"), LogDirError("/data", "EIO"), KafkaError(ErrorCode.NONE)):
        assert not is_exhaustion(error)


async def test_retries_slow_down_to_one_a_second_and_end_with_a_free_descriptor(
    autojump_clock, world, nursery
) -> None:
    gone = Exhausted(world, "names")
    nursery.start_soon(gone.end_after, 10.0)
    began = trio.current_time()

    assert await names_in(world.directory("/")) == []

    assert 10.0 <= trio.current_time() - began <= 11.0
    assert 14 <= len(gone.refused_calls) <= 17


async def test_errors_other_than_descriptor_exhaustion_are_raised_at_once(
    autojump_clock, world
) -> None:
    async def fail() -> None:
        await trio.lowlevel.checkpoint()
        raise OSError(5, "EIO")

    with pytest.raises(OSError, match="EIO"):
        await when_free(fail)
    with pytest.raises(FileNotFoundError):
        await when_free_now(lambda: world.directory("/").open("none"))


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
async def test_start_without_descriptors_waits_and_then_loads_all_logs(
    autojump_clock, world, nursery, number
) -> None:
    await format_directory(world, "/data")
    before = await started(world)
    for partition in (T0, T1):
        log = before.create(partition, TOPIC_ID, SMALL)
        for _ in range(5):
            append(log, batch(2))
        await sync(log)
    before.abandon()  # no clean end: all is read
    gone = Exhausted(world, number=number)
    nursery.start_soon(gone.end_after, 5.0)

    again = LogManager(world, ("/data",), Node("broker", "broker"))
    await start(again, IDENTITY, config=SMALL)

    assert "lock" in gone.refused_calls
    assert again.offline_paths == {}
    assert again.directories[0].offline is None
    assert [log.end_offset for log in again.logs] == [10, 10]


@pytest.mark.parametrize("call", CALLS)
async def test_load_waits_for_a_descriptor_at_each_kind_of_call(
    autojump_clock, world, nursery, call
) -> None:
    await format_directory(world, "/data")
    before = await started(world)
    append(before.create(T0, TOPIC_ID, SMALL), batch(2))
    await before.close()
    again = LogManager(world, ("/data",), Node("broker", "broker"))
    gone = Exhausted(world, call)
    nursery.start_soon(gone.end_after, 5.0)

    await start(again, IDENTITY, config=SMALL)

    assert again.directories[0].offline is None
    assert again.get(T0).topic_id == TOPIC_ID
    assert offsets(await read_all(again.get(T0))) == [0, 1]


async def test_checkpoints_syncs_removal_and_close_wait_for_a_descriptor(
    autojump_clock, world, nursery
) -> None:
    root = await format_directory(world, "/data")
    manager = await started(world)
    log, gone_log = (manager.create(partition, TOPIC_ID, SMALL) for partition in (T0, T1))
    for _ in range(8):
        append(log, batch(2))
    manager.delete(gone_log.partition)
    await trio.sleep(100)

    for job in (
        lambda: write_checkpoints(manager),
        lambda: sync(log),
        manager.removal.remove_due,
        lambda: retain_all(manager),
        manager.close,
    ):
        gone = Exhausted(world)
        nursery.start_soon(gone.end_after, 5.0)
        began = trio.current_time()
        await job()
        assert manager.directories[0].offline is None
        assert log.failed is None
        if gone.refused_calls:
            assert trio.current_time() - began >= 5.0
        await trio.sleep(10)

    assert root.exists(".kafka_cleanshutdown")
    assert not [name for name in root.names() if name.endswith("-delete")]


@pytest.mark.parametrize("call", ["names", "sync_directory"])
@pytest.mark.parametrize("cut", [truncate_to, restart_at])
async def test_truncation_waits_for_a_descriptor_and_the_directory_stays_online(
    autojump_clock, world, nursery, cut, call
) -> None:
    await format_directory(world, "/data")
    manager = await started(world)
    log = manager.create(T0, TOPIC_ID, SMALL)
    for _ in range(5):
        append(log, batch(2))
    await sync(log)
    gone = Exhausted(world, call)
    nursery.start_soon(gone.end_after, 5.0)

    await cut(log, 4)

    assert gone.refused_calls
    assert log.failed is None
    assert manager.directories[0].offline is None
    assert log.end_offset == 4
