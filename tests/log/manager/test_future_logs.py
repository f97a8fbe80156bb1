"""Future logs: created, promoted, dropped, and found again after a crash at any step."""

import pytest
import trio

from tests.log.kit import append, batch, read_all
from tests.log.managers import SMALL, T0, TOPIC_ID, format_directory, start, started
from trio_kafka.errors import ErrorCode, InvariantError, KafkaError, LogDirError
from trio_kafka.introspect.tree import Node
from trio_kafka.log.durability.sync import sync
from trio_kafka.log.files.names import future_name
from trio_kafka.log.manager.loading import load_logs
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.log.manager.maintenance import retain_all
from trio_kafka.log.truncate import restart_at
from trio_kafka.model import TopicId, TopicPartition

A, B = "A" * 22, "B" * 22
OTHER_ID = TopicId(b"o" * 16)


async def two(world) -> LogManager:
    await format_directory(world, "/a", A)
    await format_directory(world, "/b", B)
    return await started(world, "/a", "/b")


async def moving(world, *, behind: int = 0) -> LogManager:
    """A log in /a with a durable future log in /b, which lacks so many batches."""
    logs = await two(world)
    here, there = logs.directories
    log = logs.create(T0, TOPIC_ID, SMALL, directory=here)
    future = logs.create_future(there, T0, TOPIC_ID, config=SMALL, start_offset=0)
    for number in range(5):
        append(log, batch(2))
        if number < 5 - behind:
            append(future, batch(2))
    await sync(log)
    await sync(future)
    return logs


async def next_life(
    world, logs: LogManager, directory_id: str | None = None, topic_id: TopicId | None = TOPIC_ID
) -> LogManager:
    """Load as after kill -9. directory_id: id of the directory that the metadata name."""
    logs.abandon()
    again = LogManager(world, ["/a", "/b"], Node("broker", "broker"))
    await again.open()
    await load_logs(
        again, lambda _: SMALL, directory_of=lambda _: directory_id, topic_id_of=lambda _: topic_id
    )
    return again


def names(world, path: str) -> list[str]:
    """Return the names of partitions' directories, with their marks."""
    result = [name for name in world.directory(path).names() if name.startswith("t-0")]
    return [name[:3] + (name[name.rindex("-") :] if "." in name else "") for name in result]


async def test_future_log_is_separate_from_the_log_of_its_partition(world, autojump_clock) -> None:
    logs = await moving(world)

    assert logs.directory_of(T0).path == "/a"
    assert logs.directory_of(T0, is_future=True).path == "/b"
    assert [future.partition for future in logs.futures] == [T0]
    assert logs.get(T0) is not logs.future(T0)
    assert (names(world, "/a"), names(world, "/b")) == (["t-0"], ["t-0-future"])
    assert logs.figures()["futures"] == 1


async def test_promotion_gives_the_future_log_the_name_and_deletes_the_old_log(
    world, autojump_clock
) -> None:
    logs = await moving(world)
    log, future = logs.get(T0), logs.future(T0)

    logs.promote(T0)

    assert logs.get(T0) is future
    assert log.closed
    assert len(logs.futures) == 0
    assert (names(world, "/a"), names(world, "/b")) == (["t-0-delete"], ["t-0"])
    append(future, batch(1))
    await sync(future)
    assert len(await read_all(future)) == 11
    with pytest.raises(InvariantError):
        logs.promote(T0)


async def test_promotion_keeps_old_files_until_the_new_name_is_durable(
    world, autojump_clock
) -> None:
    logs = await moving(world)
    world.universe.fault = lambda machine, call, target: (
        5.0 if call == "sync_directory" and target == "/b" else None
    )
    async with trio.open_nursery() as nursery:
        await nursery.start(logs.run)
        logs.promote(T0)

        await trio.sleep(4)
        assert len(logs.removal) == 0
        await trio.sleep(4)
        assert len(logs.removal) == 1
        nursery.cancel_scope.cancel()


async def test_a_dropped_future_log_is_deleted(world, autojump_clock) -> None:
    logs = await moving(world)

    logs.drop_future(T0)
    logs.drop_future(T0)

    assert names(world, "/b") == ["t-0-delete"]
    assert len(logs.removal) == 1


async def test_name_of_a_future_log_above_255_bytes_is_refused(world, autojump_clock) -> None:
    assert len(future_name(TopicPartition("x" * 213, 0), bytes(16))) == 255

    with pytest.raises(KafkaError) as caught:
        future_name(TopicPartition("x" * 214, 0), bytes(16))
    assert caught.value.code is ErrorCode.INVALID_TOPIC_EXCEPTION


async def test_directory_goes_offline_when_a_future_log_cannot_be_created(
    world, autojump_clock
) -> None:
    logs = await two(world)
    world.universe.fault = lambda machine, call, target: (
        OSError(28, "ENOSPC") if target.startswith("/b") else None
    )

    with pytest.raises(LogDirError):
        logs.create_future(logs.directories[1], T0, TOPIC_ID, config=SMALL, start_offset=0)

    assert logs.directories[1].offline
    assert len(logs.futures) == 0


async def test_future_log_is_loaded_again_after_a_kill(world, autojump_clock) -> None:
    logs = await next_life(world, await moving(world, behind=2))

    assert logs.future(T0).end_offset == 6
    assert logs.future(T0).topic_id == TOPIC_ID
    assert logs.get(T0).end_offset == 10


async def test_caught_up_future_log_in_the_directory_of_the_metadata_is_promoted_at_load(
    world, autojump_clock
) -> None:
    logs = await next_life(world, await moving(world), B)

    assert logs.directory_of(T0).path == "/b"
    assert len(logs.futures) == 0
    assert names(world, "/a") == ["t-0-delete"]


async def test_future_log_that_is_behind_is_not_promoted_at_load(world, autojump_clock) -> None:
    logs = await next_life(world, await moving(world, behind=1), B)

    assert logs.directory_of(T0).path == "/a"
    assert logs.future(T0).end_offset == 8


async def test_future_log_without_the_last_record_is_not_promoted_at_load(
    world, autojump_clock
) -> None:
    logs = await moving(world)
    append(logs.get(T0), batch(1))

    logs = await next_life(world, logs, B)

    assert logs.directory_of(T0).path == "/a"
    assert (logs.get(T0).end_offset, logs.future(T0).end_offset) == (11, 10)


async def test_future_log_with_a_higher_start_offset_is_not_promoted_at_load(
    world, autojump_clock
) -> None:
    logs = await moving(world)
    logs.get(T0).set_start_offset(2)
    logs.future(T0).set_start_offset(3)
    for directory in logs.directories:
        await directory.checkpoint()

    logs = await next_life(world, logs, B)

    assert logs.directory_of(T0).path == "/a"
    assert (logs.get(T0).start_offset, logs.future(T0).start_offset) == (2, 3)


async def test_future_log_restarted_at_the_end_is_not_promoted_at_load(
    world, autojump_clock
) -> None:
    logs = await moving(world)
    await restart_at(logs.future(T0), 10)

    logs = await next_life(world, logs, B)

    assert logs.directory_of(T0).path == "/a"
    assert logs.future(T0).start_offset == 10


async def test_future_log_without_a_log_is_promoted_at_load(world, autojump_clock) -> None:
    """Act as if a crash had kept the rename of the log to a deleted one, and not the other one."""
    logs = await moving(world)
    logs.delete(T0)

    logs = await next_life(world, logs)

    assert logs.directory_of(T0).path == "/b"
    assert logs.get(T0).end_offset == 10


async def test_future_log_is_not_promoted_while_another_directory_is_offline(
    world, autojump_clock
) -> None:
    logs = await moving(world)
    logs.abandon()
    world.universe.fault = lambda machine, call, target: (
        OSError(5, "EIO") if target.startswith("/a") else None
    )

    again = await next_life(world, logs)

    assert again.get(T0) is None
    assert again.future(T0) is not None


@pytest.mark.parametrize(("directory_id", "path"), [(A, "/a"), (B, "/b")])
async def test_log_in_the_directory_of_the_metadata_is_kept_of_two_with_one_name(
    world, autojump_clock, directory_id: str, path: str
) -> None:
    """Act as if only one of the two renames had outlived a crash."""
    logs = await moving(world)
    there = logs.directories[1].root
    (name,) = (entry for entry in there.names() if entry.endswith("-future"))
    logs.abandon()
    there.rename(name, "t-0")

    logs = await next_life(world, logs, directory_id)

    assert logs.directory_of(T0).path == path
    assert len(logs.strays) == 1
    assert sorted([names(world, "/a"), names(world, "/b")]) == [["t-0"], ["t-0-stray"]]


async def test_future_log_of_an_earlier_topic_is_deleted_at_load(world, autojump_clock) -> None:
    logs = await two(world)
    here, there = logs.directories
    await sync(logs.create(T0, TOPIC_ID, SMALL, directory=here))
    await sync(logs.create_future(there, T0, OTHER_ID, config=SMALL, start_offset=0))

    logs = await next_life(world, logs)

    assert len(logs.futures) == 0
    assert names(world, "/b") == ["t-0-delete"]


@pytest.mark.parametrize("records", [0, 1])
async def test_future_log_that_was_never_synced_is_deleted_at_load_if_it_is_empty(
    world, autojump_clock, records: int
) -> None:
    """It may be that of a topic of this name that was deleted, whose deletion was lost. The first
    record brings the topic's id along.
    """
    logs = await two(world)
    here, there = logs.directories
    await sync(logs.create(T0, TOPIC_ID, SMALL, directory=here))
    future = logs.create_future(there, T0, TOPIC_ID, config=SMALL, start_offset=0)
    for _ in range(records):
        append(future, batch(1))

    logs = await next_life(world, logs)

    assert len(logs.futures) == records


async def test_future_log_replaces_a_log_of_an_earlier_topic_at_load(world, autojump_clock) -> None:
    logs = await two(world)
    here, there = logs.directories
    await sync(logs.create(T0, OTHER_ID, SMALL, directory=here))
    await sync(logs.create_future(there, T0, TOPIC_ID, config=SMALL, start_offset=0))

    logs = await next_life(world, logs)

    assert logs.directory_of(T0).path == "/b"
    assert names(world, "/a") == ["t-0-stray"]


async def test_future_log_is_kept_at_load_while_its_topic_id_is_unknown(
    world, autojump_clock
) -> None:
    logs = await next_life(world, await moving(world), topic_id=None)

    assert len(logs.futures) == 1


async def test_future_log_in_the_directory_of_its_log_is_deleted_unread(
    world, autojump_clock, caplog
) -> None:
    """A move that was cancelled before the log came here; the crash undid the new name."""
    logs = await moving(world)
    here = logs.directories[0].root
    directory = here.directory(future_name(T0, b"o" * 16), create=True)
    directory.create("leader-epoch-checkpoint").close()
    await logs.directories[0].checkpoint()

    logs = await next_life(world, logs)

    assert logs.directory_of(T0).path == "/a"
    assert logs.get(T0).end_offset == 10
    assert names(world, "/a") == ["t-0", "t-0-delete"]
    assert "records are missing" not in caplog.text


async def test_only_one_of_two_future_logs_is_kept_at_load(world, autojump_clock) -> None:
    logs = await moving(world)
    other = world.directory("/b").directory(future_name(T0, b"o" * 16), create=True)
    file = other.create("00000000000000000000.log")
    file.close()

    logs = await next_life(world, logs)

    assert len(logs.futures) == 1
    assert sorted(names(world, "/b")) in (
        ["t-0-future", "t-0-stray"],
        ["t-0-delete", "t-0-future"],
    )


async def test_checkpoints_include_future_logs(world, autojump_clock) -> None:
    logs = await moving(world)
    logs.future(T0).set_start_offset(3)
    await logs.directories[1].checkpoint()
    logs.abandon()

    again = LogManager(world, ["/a", "/b"], Node("broker", "broker"))
    await start(again, config=SMALL)

    assert again.future(T0).start_offset == 3
    assert again.future(T0).high_watermark == 10


async def test_retention_removes_segments_before_the_start_of_a_future_log(
    world, autojump_clock
) -> None:
    logs = await moving(world)
    future = logs.future(T0)
    for _ in range(20):
        append(future, batch(2))
    before = len(future.segments)
    future.set_start_offset(40)

    assert await retain_all(logs) > 0

    assert len(future.segments) < before
