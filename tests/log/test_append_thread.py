import errno

import hypothesis
import pytest
import trio
from hypothesis import strategies as st

from tests.log.kit import append, batch, content_of, header, new_log, read
from trio_kafka.errors import ErrorCode, InvariantError, KafkaError, LogDirError
from trio_kafka.log.append import _writing, append_as_leader, append_in_thread
from trio_kafka.log.disk_latency import SLOW_FOR_S
from trio_kafka.log.durability.sync import close, sync
from trio_kafka.log.read import read_bytes
from trio_kafka.log.retention import delete_before
from trio_kafka.log.rolling import roll, roll_in_thread
from trio_kafka.log.truncate import truncate_to
from trio_kafka.testing.simulation import fault_on, run_simulated
from trio_kafka.world.simulated.universe import Universe

STALL_S = 0.5


async def slowly(log, content, epoch=0):
    """One append as a writer makes it."""
    async with log.writer.turn("append"):
        return await append_in_thread(log, memoryview(content), header(content), leader_epoch=epoch)


def stall(world, seconds=STALL_S):
    world.universe.fault = fault_on("append", seconds, ".log")


def content(log):
    return {name: log.directory.open(name) for name in log.directory.names()}


async def test_append_in_a_thread_writes_the_same_log_as_an_append_in_the_loop(
    autojump_clock, world
) -> None:
    settings = {"segment_bytes": 400, "index_interval_bytes": 100, "flush_messages": 3}
    fast, slow = new_log(world, "/fast", **settings), new_log(world, "/slow", **settings)

    for sequence in range(20):
        sent = {"producer_id": 7, "producer_epoch": 0, "base_sequence": sequence}
        first, second = batch(1, size=30, **sent), batch(1, size=30, **sent)
        at = append(fast, first, epoch=sequence // 7)
        assert await slowly(slow, second, sequence // 7) == at
        assert first == second

    slow.high_watermark = 20
    assert fast.figures() == slow.figures()
    assert fast.epochs.rows == slow.epochs.rows
    assert fast.flush_end == slow.flush_end
    assert await read_bytes(slow, 0, 10_000) == await read_bytes(fast, 0, 10_000)
    assert await read_bytes(slow, 13, 1) == await read_bytes(fast, 13, 1)
    assert len(slow.segments) > 3
    for log in (fast, slow):
        await sync(log)
    assert {n: f.size for n, f in content(fast).items()} == {
        n: f.size for n, f in content(slow).items()
    }


@pytest.mark.slow
@hypothesis.settings(max_examples=20)
@hypothesis.given(
    appends=st.lists(
        st.tuples(
            st.integers(1, 2),
            st.integers(0, 200),
            st.integers(0, 1),
            st.booleans(),
            st.integers(100, 400),
        ),
        max_size=12,
    ),
    compacted=st.booleans(),
    append_time=st.booleans(),
    flush_messages=st.sampled_from([3, 1000]),
)
def test_appends_in_the_loop_in_pieces_and_in_threads_leave_the_same_log(
    appends, compacted, append_time, flush_messages
) -> None:
    """The two forms of the write, `_write_now` and `_writing`, must stay equal."""

    async def main(universe: Universe):
        settings = {
            "segment_bytes": 2000,
            "index_interval_bytes": 300,
            "segment_ms": 250,
            "flush_messages": flush_messages,
            "cleanup_policy": frozenset({"compact" if compacted else "delete"}),
            "message_timestamp_type": "LogAppendTime" if append_time else "CreateTime",
        }
        world = universe.machine("broker")
        logs = [new_log(world, f"/{name}", **settings) for name in ("loop", "pieces", "thread")]
        logs[1].latency.yield_point.bind(lambda: None)
        epoch, sequence = 0, 0
        for count, size, bump, idempotent, timestamp in appends:
            epoch += bump
            sent = {"producer_id": 7, "producer_epoch": 0, "base_sequence": sequence}
            content = batch(count, size=size, timestamp=timestamp, **(sent if idempotent else {}))
            sequence += count * idempotent
            copies = [bytearray(content) for _ in logs]
            at = [
                append_as_leader(
                    logs[0], memoryview(copies[0]), header(content), leader_epoch=epoch
                ),
                append_as_leader(
                    logs[1],
                    memoryview(copies[1]),
                    header(content),
                    leader_epoch=epoch,
                    in_pieces=True,
                ),
                await slowly(logs[2], copies[2], epoch),
            ]
            assert at[1:] == at[:-1]
            assert copies[1:] == copies[:-1]
        for log in logs:
            await sync(log)
        return [
            (
                log.figures(),
                log.epochs.rows,
                log.flush_end,
                [(s.base_offset, s.size, s.max_timestamp) for s in log.segments],
                await everything(log),
            )
            for log in logs
        ]

    first, *others = run_simulated(main)

    assert others == [first, first]


async def everything(log) -> dict[str, bytes]:
    """Contents of the files of a log."""
    return {name: await content_of(log.directory, name) for name in log.directory.names()}


async def test_duplicate_batch_is_not_appended_in_a_thread(autojump_clock, world) -> None:
    log = new_log(world)
    sent = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
    append(log, batch(2, **sent))

    again = await slowly(log, batch(2, **sent))

    assert again.duplicate
    assert log.end_offset == 2


async def test_append_in_a_thread_refuses_the_same_batches_as_other_appends(
    autojump_clock, world
) -> None:
    log = new_log(world, max_message_bytes=80)
    gap = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 5}
    append(log, batch(1, producer_id=7, producer_epoch=0, base_sequence=0))

    for refused, code in (
        (batch(1, size=100), ErrorCode.MESSAGE_TOO_LARGE),
        (batch(1, **gap), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
    ):
        with pytest.raises(KafkaError) as caught:
            await slowly(log, refused)
        assert caught.value.code is code
    assert log.end_offset == 1


async def test_append_in_a_thread_blocks_other_appends_and_rolls(
    autojump_clock, world, nursery
) -> None:
    log = new_log(world)
    append(log, batch())
    stall(world)
    nursery.start_soon(slowly, log, batch())
    await trio.sleep(STALL_S / 2)

    for call in (lambda: append(log, batch()), lambda: roll(log)):
        with pytest.raises(InvariantError):
            call()

    await trio.sleep(STALL_S)
    assert log.end_offset == 2
    world.universe.fault = fault_on("none", None)
    assert append(log, batch()).first_offset == 2


async def test_batch_is_invisible_to_readers_until_its_append_in_a_thread_ends(
    autojump_clock, world, nursery
) -> None:
    log = new_log(world)
    first = batch()
    append(log, first)
    stall(world)
    nursery.start_soon(slowly, log, batch())
    await trio.sleep(STALL_S / 2)

    result = read(log, 0, 1000, log.end_offset)

    assert (log.end_offset, result.remaining) == (1, len(first))
    result.release()


@pytest.mark.parametrize("operation", ["truncate", "close", "sync", "delete"])
async def test_truncation_close_sync_and_deletion_wait_for_an_append_in_a_thread(
    autojump_clock, world, nursery, operation
) -> None:
    log = new_log(world)
    append(log, batch(3))
    log.high_watermark = 3
    stall(world)
    nursery.start_soon(slowly, log, batch())
    await trio.sleep(0.01)
    began = trio.current_time()

    async def ignore() -> None:
        await trio.lowlevel.checkpoint()

    await {
        "truncate": lambda: truncate_to(log, 2),
        "close": lambda: close(log),
        "sync": lambda: sync(log),
        "delete": lambda: delete_before(log, 3, ignore),
    }[operation]()

    assert trio.current_time() - began > STALL_S * 0.9
    assert log.end_offset == (0 if operation == "truncate" else 4)
    if operation == "sync":
        assert log.recovery_point == 4


async def test_append_in_a_thread_to_a_log_deleted_meanwhile_appends_nothing(
    autojump_clock, world, nursery
) -> None:
    log = new_log(world)
    stall(world)

    async def delete() -> None:
        await trio.sleep(STALL_S / 2)
        log.abandon()

    nursery.start_soon(delete)
    with pytest.raises(KafkaError) as caught:
        await slowly(log, batch())

    assert caught.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (log.end_offset, log.failed, log.writer.blocked_by) == (0, None, None)


async def test_append_in_a_thread_to_a_log_that_fails_meanwhile_appends_nothing(
    autojump_clock, world, nursery
) -> None:
    log = new_log(world)
    stall(world)

    async def fail() -> None:
        await trio.sleep(STALL_S / 2)
        log.failed = LogDirError("/", "another log's error")

    nursery.start_soon(fail)
    with pytest.raises(LogDirError):
        await slowly(log, batch())

    assert log.end_offset == 0


async def test_io_error_of_an_append_in_a_thread_fails_the_log(autojump_clock, world) -> None:
    log = new_log(world)
    failed = []
    log.on_failure = failed.append
    world.universe.fault = fault_on("append", OSError(5, "EIO"))

    with pytest.raises(LogDirError):
        await slowly(log, batch())

    assert failed == [log.failed]
    assert (log.end_offset, log.writer.blocked_by) == (0, None)


async def test_cancelled_append_in_a_thread_is_completed(autojump_clock, world) -> None:
    log = new_log(world)
    stall(world)

    with trio.move_on_after(STALL_S / 2):
        await slowly(log, batch(2))

    assert log.end_offset == 2
    assert log.size == len(batch(2))


async def test_long_append_in_a_thread_makes_the_directory_slow_for_a_while(
    autojump_clock, world
) -> None:
    log = new_log(world)
    stall(world, 0.02)
    await slowly(log, batch())
    assert not log.latency.slow

    stall(world, 0.03)
    await slowly(log, batch())

    assert log.latency.slow
    await trio.sleep(SLOW_FOR_S + 0.1)
    assert not log.latency.slow


def stall_all(world, *calls, seconds=STALL_S):
    """A stall of the loop would raise TypeError on the clock of these tests."""
    world.universe.fault = lambda machine, call, target: seconds if call in calls else None


async def test_append_in_a_thread_creates_a_new_segment_outside_the_loop(
    autojump_clock, world, nursery
) -> None:
    log = new_log(world, segment_bytes=250, index_interval_bytes=10)
    sent = {"producer_id": 7, "producer_epoch": 0, "timestamp": 1000}
    for sequence in range(2):
        append(log, batch(1, size=30, base_sequence=sequence, **sent))
    requests: list = []
    log.wants_sync = requests.append
    stall_all(world, "create", "append", "open", "truncate")
    nursery.start_soon(slowly, log, batch(1, size=30, base_sequence=2, **sent))
    await trio.sleep(STALL_S)

    assert len(log.segments) == 1
    read(log, 0, 100, 2).release()
    await trio.sleep(10 * STALL_S)

    assert [segment.base_offset for segment in log.segments] == [0, 2]
    assert log.end_offset == 3
    assert log.segments.first.sealed
    assert requests == [log]
    world.universe.fault = fault_on("none", None)
    sizes = {name: file.size for name, file in content(log).items()}
    assert sizes["00000000000000000000.index"] == 8
    assert sizes["00000000000000000000.timeindex"] == 12
    assert sizes["00000000000000000002.snapshot"] > 0
    await sync(log)
    assert await read_bytes(log, 0, 100)


async def test_retention_rolls_a_slow_log_in_a_thread(autojump_clock, world) -> None:
    log = new_log(world)
    append(log, batch(3))
    now = log.latency.elapsed()
    log.latency.took_long(now, now)
    stall_all(world, "create")

    assert await delete_before(log, 3, trio.lowlevel.checkpoint) == 1

    assert (log.start_offset, log.end_offset, len(log.segments)) == (3, 3, 1)
    assert log.writer.blocked_by is None


async def test_log_deleted_during_a_roll_in_a_thread_gets_no_new_segment(
    autojump_clock, world, nursery
) -> None:
    log = new_log(world, segment_bytes=100)
    append(log, batch(1, size=30))
    stall_all(world, "create")

    async def delete() -> None:
        await trio.sleep(STALL_S / 2)
        log.abandon()

    nursery.start_soon(delete)
    with pytest.raises(KafkaError) as caught:
        await slowly(log, batch(1, size=30))

    assert caught.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (log.end_offset, len(log.segments), log.writer.blocked_by) == (1, 1, None)


@pytest.mark.parametrize("suffix", [".index", ".timeindex", ".log"])
async def test_roll_in_a_thread_without_a_descriptor_changes_nothing_and_can_be_repeated(
    autojump_clock, world, suffix
) -> None:
    log = new_log(world, segment_bytes=100)
    append(log, batch(1, size=30))
    world.universe.fault = fault_on("create", OSError(errno.EMFILE, "EMFILE"), suffix)

    with pytest.raises(KafkaError) as caught:
        await slowly(log, batch(1, size=30))

    assert caught.value.code is ErrorCode.REPLICA_NOT_AVAILABLE
    assert (log.end_offset, len(log.segments), log.failed, log.writer.blocked_by) == (
        1,
        1,
        None,
        None,
    )
    world.universe.fault = fault_on("none", None)
    assert (await slowly(log, batch(1, size=30))).first_offset == 1
    await sync(log)
    assert len(log.segments) == 2


async def test_log_fails_when_a_new_segment_cannot_be_created(autojump_clock, world) -> None:
    log = new_log(world, segment_bytes=100)
    append(log, batch(1, size=30))
    world.universe.fault = fault_on("create", OSError(5, "EIO"), ".snapshot")

    with pytest.raises(LogDirError):
        await slowly(log, batch(1, size=30))

    assert log.failed
    assert (log.end_offset, len(log.segments), log.writer.blocked_by) == (1, 1, None)


@pytest.mark.parametrize("suffix", [".index", ".timeindex", ".snapshot"])
async def test_log_closed_during_a_roll_in_a_thread_keeps_no_file_open(
    autojump_clock, world, nursery, suffix: str
) -> None:
    log = new_log(world)
    append(log, batch())
    world.universe.fault = fault_on("create", STALL_S, suffix)
    errors = []

    async def rolls() -> None:
        try:
            await roll_in_thread(log)
        except KafkaError as error:
            errors.append(error.code)

    nursery.start_soon(rolls)
    await trio.sleep(STALL_S / 2)
    log.abandon()
    await trio.sleep(STALL_S)

    assert errors == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    assert len(log.segments) == 1
    assert world.descriptors.files == 0


@pytest.mark.parametrize("in_thread", [True, False])
async def test_new_segment_is_closed_if_its_producer_snapshot_cannot_be_written(
    autojump_clock, world, in_thread: bool
) -> None:
    log = new_log(world)
    append(log, batch())
    world.universe.fault = fault_on("append", OSError(errno.EIO, "broken"), ".snapshot")

    with pytest.raises(LogDirError):
        if in_thread:
            await roll_in_thread(log)
        else:
            roll(log)
    log.abandon()

    assert world.descriptors.files == 0


async def test_file_that_grows_behind_an_append_in_a_thread_breaks_the_invariant(
    autojump_clock, world
) -> None:
    log, content = new_log(world), batch()
    write = _writing(log, memoryview(content), (header(content),), now_ms=0)
    append_bytes = next(write)
    position = append_bytes.now()
    append_bytes.file.append((b"x",))

    with pytest.raises(InvariantError, match=f"want {len(content)} after an append"):
        write.send(position)

    assert log.end_offset == 0
