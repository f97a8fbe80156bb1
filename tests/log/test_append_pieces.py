import errno

import pytest

from tests.log.kit import append, batch, header, new_log, read
from trio_kafka.errors import ErrorCode, InvariantError, KafkaError, LogDirError
from trio_kafka.log.append import append_as_leader
from trio_kafka.log.disk_latency import LONG_APPEND_S, DiskLatency
from trio_kafka.log.durability.sync import sync
from trio_kafka.log.read import read_bytes
from trio_kafka.log.rolling import roll
from trio_kafka.testing.simulation import fault_on
from trio_kafka.world.protocols import PIECE

LARGE = 2 * PIECE + 100


def in_pieces(log, content, epoch=0, between=None):
    yield_point = log.latency.yield_point
    if between is not None or not yield_point.bound:
        yield_point.bind(between or (lambda: None))
    return append_as_leader(
        log, memoryview(content), header(content), leader_epoch=epoch, in_pieces=True
    )


def large(**fields):
    return batch(1, size=LARGE, **fields)


async def test_append_in_pieces_writes_the_same_log_as_an_append_at_once(
    autojump_clock, world
) -> None:
    settings = {"segment_bytes": 3 * LARGE, "index_interval_bytes": 100, "flush_messages": 3}
    first, second = new_log(world, "/one", **settings), new_log(world, "/other", **settings)

    for sequence in range(8):
        sent = {"producer_id": 7, "producer_epoch": 0, "base_sequence": sequence}
        at = append(first, large(**sent), epoch=sequence // 3)
        assert in_pieces(second, large(**sent), sequence // 3) == at

    first.high_watermark = second.high_watermark = 8
    assert first.figures() == second.figures()
    assert first.epochs.rows == second.epochs.rows
    assert first.flush_end == second.flush_end
    assert await read_bytes(first, 0, 9 * LARGE) == await read_bytes(second, 0, 9 * LARGE)
    assert len(second.segments) > 2
    for log in first, second:
        await sync(log)
    assert {name: first.directory.open(name).size for name in first.directory.names()} == {
        name: second.directory.open(name).size for name in second.directory.names()
    }


@pytest.mark.parametrize("bound", [True, False])
async def test_append_is_made_in_pieces_only_if_a_yield_point_is_bound(
    world, monkeypatch, bound
) -> None:
    log, yields = new_log(world), []
    monkeypatch.setattr(DiskLatency, "give_way", lambda _: yields.append(0))
    if bound:
        log.latency.yield_point.bind(lambda: None)
    content = large()

    append_as_leader(log, memoryview(content), header(content), leader_epoch=0, in_pieces=True)

    assert len(yields) == 2 * bound
    assert log.end_offset == 1


async def test_append_in_pieces_refuses_the_same_batches_as_other_appends(world) -> None:
    log = new_log(world, max_message_bytes=LARGE + 200)
    sent = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
    in_pieces(log, large(**sent))

    assert in_pieces(log, large(**sent)).duplicate
    for refused, code in (
        (batch(1, size=2 * LARGE), ErrorCode.MESSAGE_TOO_LARGE),
        (large(**{**sent, "base_sequence": 5}), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
    ):
        with pytest.raises(KafkaError) as caught:
            in_pieces(log, refused)
        assert caught.value.code is code
    assert log.end_offset == 1


async def test_append_in_pieces_is_invisible_and_blocks_appends_and_rolls_until_its_end(
    world,
) -> None:
    log, times = new_log(world), []
    first = batch()
    append(log, first)

    def between() -> None:
        result = read(log, 0, 10 * LARGE, log.end_offset)
        times.append((log.end_offset, log.size, result.remaining))
        result.release()
        for call in (
            lambda: append(log, batch()),
            lambda: roll(log),
            lambda: in_pieces(log, large()),
        ):
            with pytest.raises(InvariantError):
                call()

    in_pieces(log, large(), between=between)

    assert times == [(1, len(first), len(first))] * 2
    assert append(log, batch()).first_offset == 2


@pytest.mark.parametrize("number", [0, 1])
async def test_append_in_pieces_to_a_log_closed_meanwhile_appends_nothing(
    world, number: int
) -> None:
    log, times = new_log(world), []
    append(log, batch())

    def between() -> None:
        if len(times) == number:
            log.abandon()
        times.append(None)

    with pytest.raises(KafkaError) as caught:
        in_pieces(log, large(), between=between)

    assert caught.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (log.end_offset, log.writer.blocked_by) == (1, None)


async def test_log_fails_when_a_piece_of_an_append_cannot_be_written(world) -> None:
    log = new_log(world)
    world.universe.fault = fault_on("append", OSError(errno.EIO, "broken"), ".log")

    with pytest.raises(LogDirError):
        in_pieces(log, large())

    assert log.failed
    assert log.writer.blocked_by is None
    with pytest.raises(LogDirError):
        in_pieces(log, large())


async def test_error_between_the_pieces_of_an_append_leaves_the_log_unchanged(world) -> None:
    log = new_log(world)

    def between() -> None:
        raise InvariantError("of others")

    with pytest.raises(InvariantError, match="of others"):
        in_pieces(log, large(), between=between)

    assert log.size == 0
    assert append(log, large()).first_offset == 0


@pytest.mark.parametrize(("inside_s", "held"), [(0.0, False), (LONG_APPEND_S, True)])
async def test_time_between_the_pieces_is_not_counted_as_disk_latency(
    world, inside_s: float, held: bool
) -> None:
    log, now = new_log(world), [0.0]

    def elapsed() -> float:
        now[0] += inside_s / 2
        return now[0]

    def between() -> None:
        now[0] += 1

    log.latency.elapsed = elapsed
    in_pieces(log, large(), between=between)

    assert bool(log.latency.long_appends) == held
