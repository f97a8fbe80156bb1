import pytest
import trio
from attrs import evolve

from tests.log.kit import decompression
from tests.replication import kit
from tests.replication.kit import batch, make_slow, open_cluster, park, serve, start, state
from trio_kafka.errors import ErrorCode, InvariantError, KafkaError
from trio_kafka.introspect.tree import Node
from trio_kafka.log.disk_latency import SLOW_FOR_S
from trio_kafka.log.read import read_bytes
from trio_kafka.log.transaction_checks import begin_verification
from trio_kafka.log.truncate import truncate_to
from trio_kafka.log.verification import Guard
from trio_kafka.model import TopicPartition
from trio_kafka.purgatory import Delayed
from trio_kafka.records.batch import Record, encode_batch, read_header
from trio_kafka.replication import append_queue
from trio_kafka.replication.append_queue import Queued
from trio_kafka.replication.leader import queued_appends
from trio_kafka.replication.leader.append import append, append_acknowledged, append_own
from trio_kafka.replication.leader.markers import TransactionMarker, append_marker
from trio_kafka.replication.leader.queued_appends import QueuedAppends
from trio_kafka.replication.roles import Offline
from trio_kafka.testing.simulation import fault_on
from trio_kafka.world.protocols import PIECE

STALL_S = 0.5


class Slow:
    """A partition on a slow directory and what writes it. Stalls are of appends by threads; one of
    the loop would raise TypeError on the clock of these tests.
    """

    def __init__(self, world, *isr: int, stall_s: float = STALL_S, **fields) -> None:
        self.world = world
        self.node = Node("broker", "broker")
        self.appends = QueuedAppends(world, self.node, decompression(world))
        self.partition, self.marks = kit.new_partition(world, *isr, **fields)
        self.partition.join_queue = self.appends.join
        make_slow(self.partition)
        world.universe.fault = fault_on("append", stall_s, ".log")

    @property
    def log(self):
        return self.partition.log

    def append(self, count: int = 1, *, acks: int = 1, guard: Guard | None = None, **fields):
        return append(self.partition, batch(count, **fields), acks=acks, guard=guard)

    def figures(self) -> dict:
        (node,) = self.node.children
        return dict(node.figures())


async def test_queued_appends_are_written_in_order(world, nursery, autojump_clock) -> None:
    slow = Slow(world)
    await nursery.start(slow.appends.run)
    began = trio.current_time()

    items = [slow.append(count) for count in (3, 1, 2)]
    assert [item.result for item in items] == [None] * 3
    await slow.appends.wait_empty()

    result = [(item.result.first_offset, item.result.last_offset) for item in items]
    assert result == [(0, 2), (3, 3), (4, 5)]
    assert 3 * STALL_S < trio.current_time() - began < 4 * STALL_S
    assert slow.marks.count(slow.partition) >= 3
    assert slow.log.high_watermark == 6


async def test_queued_batch_of_a_transaction_that_ends_meanwhile_is_rejected_at_its_turn(
    world, nursery, autojump_clock
) -> None:
    slow = Slow(world)
    slow.partition.changed = slow.partition.purgatories.mark
    await nursery.start(slow.appends.run)
    sent = {"producer_id": 7, "producer_epoch": 0, "transactional": True}
    marker = TransactionMarker(
        producer_id=7,
        producer_epoch=0,
        coordinator_epoch=0,
        is_commit=False,
        transaction_version=1,
        partitions=(slow.partition.at,),
    )
    header = read_header(batch(base_sequence=0, **sent))
    guard = begin_verification(slow.log.producers, header, 0, bumps_epoch=False)

    first = slow.append(base_sequence=0, guard=guard, **sent)
    ended = append_marker(slow.partition, marker)
    late = slow.append(base_sequence=1, guard=guard, **sent)
    older = append_marker(slow.partition, evolve(marker, producer_epoch=-1))
    assert isinstance(ended, Delayed)
    assert isinstance(older, Delayed)
    answers = [park(ended), park(older)]
    await slow.appends.wait_empty()
    serve()

    assert first.result.last_offset == 0
    assert late.result.code is ErrorCode.INVALID_TXN_STATE
    assert answers[0][0].last_offset == 1
    assert answers[1][0].code is ErrorCode.INVALID_PRODUCER_EPOCH
    assert slow.log.end_offset == 2


async def test_append_joins_the_queue_even_after_the_directory_is_fast_again(
    world, nursery, autojump_clock
) -> None:
    slow = Slow(world, stall_s=SLOW_FOR_S + 1)
    await nursery.start(slow.appends.run)
    first = slow.append()
    await trio.sleep(SLOW_FOR_S + 0.5)
    assert not slow.log.latency.slow

    second = slow.append()

    assert isinstance(second, Queued)
    await slow.appends.wait_empty()
    assert (first.result.first_offset, second.result.first_offset) == (0, 1)


async def test_appends_are_written_at_once_again_after_the_queue_is_empty(
    world, nursery, autojump_clock
) -> None:
    slow = Slow(world, stall_s=0.01)
    await nursery.start(slow.appends.run)
    slow.append()
    await slow.appends.wait_empty()
    assert isinstance(slow.append(), Queued)
    await slow.appends.wait_empty()
    await trio.sleep(SLOW_FOR_S + 0.1)
    world.universe.fault = fault_on("none", None)

    appended = slow.append()

    assert appended.first_offset == 2
    assert slow.log.latency.calm
    assert slow.log.latency.queues == 0
    assert slow.figures()["queues"] == 0


async def test_fast_append_to_another_partition_does_not_end_the_queueing(
    world, nursery, autojump_clock
) -> None:
    slow = Slow(world, stall_s=SLOW_FOR_S + 1)
    other, _ = kit.new_partition(world, at=TopicPartition("t", 1))
    other.log.latency = slow.log.latency
    other.join_queue = slow.appends.join
    await nursery.start(slow.appends.run)
    slow.append()
    await trio.sleep(SLOW_FOR_S + 0.5)
    world.universe.fault = fault_on("none", None)

    assert append(other, batch(), acks=1).first_offset == 0

    assert isinstance(slow.append(), Queued)
    await slow.appends.wait_empty()
    assert slow.log.end_offset == 2


async def test_one_thread_at_a_time_appends_to_a_directory(world, nursery, autojump_clock) -> None:
    slow = Slow(world)
    others = [kit.new_partition(world, at=TopicPartition("t", n))[0] for n in (1, 2)]
    for other in others:
        other.log.latency = slow.log.latency
        other.join_queue = slow.appends.join
    await nursery.start(slow.appends.run)
    began = trio.current_time()

    items = [slow.append(), *(append(other, batch(), acks=1) for other in others)]
    await trio.sleep(2.5 * STALL_S)
    assert sum(item.result is not None for item in items) == 2
    await slow.appends.wait_empty()

    assert 3 * STALL_S < trio.current_time() - began < 4 * STALL_S
    assert [item.result.first_offset for item in items] == [0, 0, 0]


async def test_append_is_written_at_once_if_the_queue_is_not_running(world, autojump_clock) -> None:
    slow = Slow(world)
    world.universe.fault = fault_on("none", None)

    assert slow.append().first_offset == 0


async def test_append_is_refused_or_written_at_once_while_the_queue_ends(
    world, autojump_clock
) -> None:
    slow = Slow(world)
    world.universe.fault = fault_on("none", None)
    async with trio.open_nursery() as nursery:
        await nursery.start(slow.appends.run)
        nursery.cancel_scope.cancel()
        with trio.CancelScope(shield=True):
            for _ in range(5):  # steps of the task that ends: it starts no writer any more
                await trio.lowlevel.checkpoint()
                last = slow.append()

    assert last.first_offset == slow.log.end_offset - 1


async def test_queue_keeps_a_copy_of_the_batch(world, nursery, autojump_clock) -> None:
    slow = Slow(world)
    slow.partition.changed = slow.partition.purgatories.mark
    await nursery.start(slow.appends.run)
    sent = batch(2)
    expected = bytes(sent)

    append(slow.partition, sent, acks=1)
    sent[:] = bytes(len(sent))
    await slow.appends.wait_empty()

    assert (await read_bytes(slow.log, 0, 1000))[16:] == expected[16:]


async def test_large_batch_is_copied_whole_with_a_yield_between_pieces(
    world, nursery, autojump_clock
) -> None:
    slow, yields = Slow(world), []
    await nursery.start(slow.appends.run)
    slow.appends.yield_point.bind(lambda: yields.append(0))
    sent = bytearray(encode_batch([Record(value=bytes(range(1, 256)) * 1200)]))
    expected = bytes(sent)

    append(slow.partition, memoryview(sent), acks=1)
    sent[:] = bytes(len(sent))  # its frame is somebody else's
    assert len(yields) == len(expected) // PIECE
    await slow.appends.wait_empty()

    assert (await read_bytes(slow.log, 0, len(expected)))[16:] == expected[16:]


async def test_damaged_batch_is_refused_without_queueing(world, nursery, autojump_clock) -> None:
    slow = Slow(world)
    await nursery.start(slow.appends.run)
    damaged = batch()
    damaged[-1] ^= 1

    with pytest.raises(KafkaError) as caught:
        append(slow.partition, damaged, acks=1)

    assert caught.value.code is ErrorCode.CORRUPT_MESSAGE
    assert slow.figures()["queues"] == 0


async def test_sequence_numbers_are_checked_when_an_append_is_written(
    world, nursery, autojump_clock
) -> None:
    slow = Slow(world)
    slow.partition.changed = slow.partition.purgatories.mark
    await nursery.start(slow.appends.run)
    sent = [{"producer_id": 7, "producer_epoch": 0, "base_sequence": n} for n in (0, 1, 0, 3, 2)]

    items = [slow.append(**fields) for fields in sent]
    await slow.appends.wait_empty()

    first, second, again, gap, third = (item.result for item in items)
    assert (first.first_offset, second.first_offset, third.first_offset) == (0, 1, 2)
    assert (again.first_offset, again.duplicate) == (0, True)
    assert gap.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert gap.__traceback__ is None  # its frames would hold what was queued


@pytest.mark.parametrize(
    ("module", "name", "most"),
    [
        (append_queue, "MOST_ITEMS", 2),
        (append_queue, "MOST_BYTES", 200),
        (queued_appends, "MOST_BYTES", 200),
    ],
)
async def test_append_to_a_full_queue_is_refused_until_the_queue_has_room(
    world, nursery, autojump_clock, monkeypatch, module, name, most
) -> None:
    monkeypatch.setattr(module, name, most)
    slow = Slow(world)
    await nursery.start(slow.appends.run)
    slow.append()
    slow.append()

    with pytest.raises(KafkaError) as caught:
        slow.append()

    assert caught.value.code is ErrorCode.REQUEST_TIMED_OUT
    assert slow.figures()["refused"] == 1
    await slow.appends.wait_empty()
    assert slow.log.end_offset == 2
    assert slow.figures()["bytes"] == 0
    assert slow.append().result is None


async def test_first_append_to_a_partition_is_refused_too_while_all_queues_are_full(
    world, nursery, autojump_clock, monkeypatch
) -> None:
    monkeypatch.setattr(queued_appends, "MOST_BYTES", 200)
    slow = Slow(world)
    other, _ = kit.new_partition(world, at=TopicPartition("t", 1))
    other.log.latency = slow.log.latency
    other.join_queue = slow.appends.join
    await nursery.start(slow.appends.run)
    slow.append(size=150)

    with pytest.raises(KafkaError) as caught:
        append(other, batch(), acks=1)

    assert caught.value.code is ErrorCode.REQUEST_TIMED_OUT
    assert (slow.figures()["queues"], slow.figures()["refused"]) == (1, 1)
    await slow.appends.wait_empty()
    assert isinstance(append(other, batch(), acks=1), Queued)
    await slow.appends.wait_empty()
    assert other.log.end_offset == 1


async def test_append_larger_than_all_queues_may_be_is_queued_alone(
    world, nursery, autojump_clock, monkeypatch
) -> None:
    monkeypatch.setattr(queued_appends, "MOST_BYTES", 200)
    slow = Slow(world)
    await nursery.start(slow.appends.run)

    large = slow.append(size=1000)
    await slow.appends.wait_empty()

    assert large.result.first_offset == 0


async def test_tree_shows_the_queues_and_their_figures(world, nursery, autojump_clock) -> None:
    slow = Slow(world)
    await nursery.start(slow.appends.run)
    for _ in range(3):
        slow.append()
    await trio.sleep(0.1)
    size = len(batch())

    (node,) = slow.node.children
    (queue,) = node.children

    assert queue.name == str(slow.partition.at)
    figures = queue.figures()
    assert (figures["depth"], figures["bytes"], figures["high_water"]) == (3, 3 * size, 3)
    assert figures["high_water_bytes"] == 3 * size
    assert 0.09 < figures["oldest_s"] < 0.11
    assert slow.figures() == {
        "queues": 1,
        "bytes": 3 * size,
        "high_water_bytes": 3 * size,
        "written": 0,
        "refused": 0,
    }
    await slow.appends.wait_empty()
    assert not node.children
    assert slow.figures()["written"] == 3


async def test_new_leader_epoch_refuses_appends_queued_before(
    world, nursery, autojump_clock
) -> None:
    slow = Slow(world)
    await nursery.start(slow.appends.run)
    written, waiting = slow.append(), slow.append()
    await trio.sleep(0.1)

    slow.partition.update(state(1, leader=2, epoch=1))
    slow.partition.update(state(1, leader=1, epoch=2))
    later = slow.append()
    await slow.appends.wait_empty()

    assert written.result.first_offset == 0
    assert waiting.result.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert later.result.first_offset == 1
    assert slow.log.epochs.rows == [(0, 0), (2, 1)]


async def test_queued_append_with_acks_all_is_refused_if_the_isr_shrinks_meanwhile(
    world, nursery, autojump_clock
) -> None:
    settings = kit.PartitionSettings(min_insync_replicas=2)
    slow = Slow(world, 1, 2, settings=settings)
    await nursery.start(slow.appends.run)
    slow.append()
    both = [slow.append(acks=-1), slow.append(acks=1)]

    slow.partition.isr = (1,)
    await slow.appends.wait_empty()

    assert both[0].result.code is ErrorCode.NOT_ENOUGH_REPLICAS
    assert both[1].result.first_offset == 1


async def test_truncation_runs_between_two_queued_appends(world, nursery, autojump_clock) -> None:
    slow = Slow(world)
    await nursery.start(slow.appends.run)
    items = [slow.append(2), slow.append(3)]
    await trio.sleep(0.1)

    await truncate_to(slow.log, 0)
    await slow.appends.wait_empty()

    assert [item.result.first_offset for item in items] == [0, 0]
    assert slow.log.end_offset == 3


async def test_deletion_of_a_partition_refuses_all_queued_appends(
    world, nursery, autojump_clock
) -> None:
    slow = Slow(world)
    await nursery.start(slow.appends.run)
    items = [slow.append(), slow.append()]
    await trio.sleep(0.1)

    slow.log.abandon()
    slow.partition.delete()
    await slow.appends.wait_empty()

    assert items[0].result.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert items[1].result.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert slow.figures()["queues"] == 0


async def test_disk_error_takes_the_partition_offline_and_fails_all_queued_appends(
    world, nursery, autojump_clock
) -> None:
    slow = Slow(world)
    await nursery.start(slow.appends.run)
    items = [slow.append(), slow.append()]
    world.universe.fault = fault_on("append", OSError(5, "EIO"))

    await slow.appends.wait_empty()

    assert [item.result.code for item in items] == [ErrorCode.KAFKA_STORAGE_ERROR] * 2
    assert isinstance(slow.partition.role, Offline)
    with pytest.raises(KafkaError):
        slow.append()


async def test_cancelled_queue_finishes_the_current_append_and_refuses_the_rest(
    world, nursery, autojump_clock
) -> None:
    slow = Slow(world)
    async with trio.open_nursery() as inner:
        await inner.start(slow.appends.run)
        items = [slow.append(), slow.append()]
        await trio.sleep(0.1)
        inner.cancel_scope.cancel()

    assert items[0].result.first_offset == 0
    assert items[1].result.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert slow.log.end_offset == 1
    assert slow.figures()["queues"] == slow.figures()["bytes"] == slow.log.latency.queues == 0


async def test_unexpected_error_of_an_append_does_not_affect_the_next_append(
    world, nursery, autojump_clock, monkeypatch
) -> None:
    slow = Slow(world)
    await nursery.start(slow.appends.run)
    first, second = slow.append(), slow.append()
    first.header = None

    await slow.appends.wait_empty()

    assert first.result.code is ErrorCode.UNKNOWN_SERVER_ERROR
    assert second.result.first_offset == 0


async def test_broken_invariant_ends_the_queue_task(world, autojump_clock) -> None:
    slow = Slow(world)
    with pytest.RaisesGroup(InvariantError, flatten_subgroups=True):
        async with trio.open_nursery() as inner:
            await inner.start(slow.appends.run)
            item = slow.append()
            slow.log.writer.blocked_by = "roll"

    assert item.result.code is ErrorCode.NOT_LEADER_OR_FOLLOWER


async def test_batches_of_the_broker_itself_are_queued_too(world, nursery, autojump_clock) -> None:
    slow = Slow(world)
    await nursery.start(slow.appends.run)

    first, second = slow.append(), append_own(slow.partition, batch(), acks=-1)
    await slow.appends.wait_empty()

    assert (first.result.first_offset, second.result.first_offset) == (0, 1)


async def test_slow_partition_does_not_delay_appends_to_another_directory(
    world, nursery, autojump_clock
) -> None:
    cluster = await open_cluster(world, paths=("/a", "/b"))
    start(cluster)
    cluster.change(t={0: state(1), 1: state(1)})
    first, second = cluster.replicas.partitions
    await nursery.start(cluster.replication.run)
    make_slow(first)
    world.universe.fault = fault_on("append", STALL_S, f"{first.at}/")

    queued = append(first, batch(), acks=1)
    began = trio.current_time()
    appended = append(second, batch(), acks=1)

    assert appended.first_offset == 0
    assert trio.current_time() == began
    await cluster.replication.queued_appends.wait_empty()
    assert queued.result.first_offset == 0
    world.universe.fault = fault_on("none", None)
    await cluster.logs.close()
    nursery.cancel_scope.cancel()


def produce_batch(partition, *, acks: int):
    """A client's batch, which joins the queue."""
    return append_acknowledged(partition, batch(), acks=acks, zstd=True, timeout_s=60.0)


@pytest.mark.parametrize("acks", [1, -1])
async def test_waiting_produce_is_checked_only_once_when_its_append_is_written(
    world, nursery, autojump_clock, acks
) -> None:
    cluster = await open_cluster(world)
    start(cluster)
    cluster.change(t={0: state(1)})
    (partition,) = cluster.replicas.partitions
    await nursery.start(cluster.replication.run)
    make_slow(partition)
    world.universe.fault = fault_on("append", 0.03, ".log")
    for _ in range(20):
        park(produce_batch(partition, acks=acks))

    looks = 0
    while cluster.replication.purgatories.produce.waiting:
        await trio.sleep(0.01)
        looks += serve()

    assert looks == 20
    assert partition.log.end_offset == 20
    world.universe.fault = fault_on("none", None)
    await cluster.logs.close()


async def test_produce_waits_for_followers_after_its_queued_append(
    world, nursery, autojump_clock
) -> None:
    cluster = await open_cluster(world)
    start(cluster)
    cluster.change(t={0: state(1, 2)})
    (partition,) = cluster.replicas.partitions
    await nursery.start(cluster.replication.run)
    make_slow(partition)
    done = park(produce_batch(partition, acks=-1))
    await cluster.replication.queued_appends.wait_empty()
    assert serve() == 1

    partition.follower_fetched(kit.PEER, 1)
    serve()

    assert [appended.first_offset for appended in done] == [0]
    assert len(cluster.replication.purgatories.produce.watchers) == 0
    await cluster.logs.close()


async def test_queued_produces_fail_at_once_when_their_topic_is_deleted(
    world, nursery, autojump_clock
) -> None:
    cluster = await open_cluster(world)
    start(cluster)
    cluster.change(t={0: state(1)})
    (partition,) = cluster.replicas.partitions
    await nursery.start(cluster.replication.run)
    make_slow(partition)
    world.universe.fault = fault_on("append", STALL_S, ".log")
    done = [park(produce_batch(partition, acks=1)) for _ in range(2)]

    cluster.change(t=None)
    serve()

    codes = [errors[0].code for errors in done]
    assert codes == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 2
    await cluster.replication.queued_appends.wait_empty()
    await cluster.logs.close()


async def test_queued_records_are_counted_when_written(world, nursery, autojump_clock) -> None:
    slow = Slow(world)
    await nursery.start(slow.appends.run)

    slow.append(3)
    slow.append(2)
    metrics = slow.partition.topic_metrics
    assert (metrics.produces, metrics.records_in) == (2, 0)
    await slow.appends.wait_empty()
    assert (metrics.records_in, metrics.bytes_in) == (5, len(batch(3)) + len(batch(2)))

    slow.append()
    slow.partition.update(state(1, epoch=9))  # what waits is refused: leaders have changed
    await slow.appends.wait_empty()
    assert (metrics.produces, metrics.records_in, metrics.failed_produces) == (
        3,
        5,
        0,
    )
