"""Writing of markers: retries, deleted topics, fences, waits for replicas, the end of the task."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import trio
from attrs import evolve
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.coordinators.transactions.kit import FIRST, ID, SECOND
from trio_kafka.coordinators.transactions.marker_writer import MarkerWriter
from trio_kafka.coordinators.transactions.states import TransactionState
from trio_kafka.coordinators.transactions.transaction import Transaction
from trio_kafka.errors import ErrorCode
from trio_kafka.introspect.tree import Node
from trio_kafka.metadata.image import MetadataImage, TopicImage
from trio_kafka.model import TopicId, TopicPartition
from trio_kafka.pending import Eventual, Work
from trio_kafka.purgatory import Delayed, Purgatory, Timers
from trio_kafka.replication.leader.markers import TransactionMarker

DONE = {FIRST: ErrorCode.NONE, SECOND: ErrorCode.NONE}
NOT_LEADER = ErrorCode.NOT_LEADER_OR_FOLLOWER
TRANSACTION = Transaction(
    transactional_id=ID,
    producer_id=5,
    producer_epoch=3,
    timeout_ms=1000,
    state=TransactionState.PREPARE_COMMIT,
    partitions=frozenset({FIRST, SECOND}),
    client_version=2,
)
Results = Mapping[TopicPartition, ErrorCode]


class Leaders:
    """Leaders of the partitions. answers: of the next writes; then each is DONE."""

    def __init__(self, *answers: Eventual[Results]) -> None:
        self.answers = list(answers)
        self.markers: list[TransactionMarker] = []

    def write(self, marker: TransactionMarker) -> Eventual[Results]:
        self.markers.append(marker)
        if self.answers:
            return self.answers.pop(0)
        return dict.fromkeys(marker.partitions, ErrorCode.NONE)


class Writing:
    """A marker writer that runs. written: transactions whose markers are all written."""

    def __init__(self, leaders: Leaders, timers: Timers, node: Node) -> None:
        self.written: list[Transaction] = []
        self.image = evolve(
            MetadataImage(),
            topics={"t": TopicImage(id=TopicId(bytes(16)), name="t", partitions={})},
        )
        self.purgatory = Purgatory("Produce", timers, node)
        self.leaders = leaders
        self.writer = MarkerWriter(
            leaders,
            timers,
            coordinator_epoch=lambda _name: 7,
            image=lambda: self.image,
            written=self.written.append,
            elapsed=trio.current_time,
        )

    def delayed(self, results: dict[TopicPartition, ErrorCode]) -> Delayed[Any]:
        """Return a wait for replicas, which ends when `results` has something."""
        return Delayed(
            ("replicas",), trio.current_time() + 30, lambda _: results or None, self.purgatory
        )


@asynccontextmanager
async def writing(*answers: Eventual[Results]) -> AsyncIterator[Writing]:
    node = Node("test", "part")
    timers = Timers(node)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(timers.run)
        running = Writing(Leaders(*answers), timers, node)
        await nursery.start(running.writer.run)
        yield running
        nursery.cancel_scope.cancel()


async def test_every_partition_gets_the_marker_before_the_transaction_is_complete(
    autojump_clock: MockClock,
) -> None:
    async with writing() as running:
        running.writer.send(TRANSACTION)
        await wait_all_tasks_blocked()

        (marker,) = running.leaders.markers
        assert set(marker.partitions) == {FIRST, SECOND}
        assert (marker.producer_id, marker.producer_epoch, marker.coordinator_epoch) == (5, 3, 7)
        assert (marker.is_commit, marker.transaction_version) == (True, 2)
        assert running.written == [TRANSACTION]
        assert running.writer.figures()["transactions"] == 0


async def test_aborted_transaction_gets_abort_markers(autojump_clock: MockClock) -> None:
    async with writing() as running:
        running.writer.send(evolve(TRANSACTION, state=TransactionState.PREPARE_ABORT))
        await wait_all_tasks_blocked()

        assert [marker.is_commit for marker in running.leaders.markers] == [False]


async def test_refused_partitions_alone_are_tried_again(autojump_clock: MockClock) -> None:
    async with writing({FIRST: ErrorCode.NONE, SECOND: NOT_LEADER}) as running:
        running.writer.send(TRANSACTION)
        await wait_all_tasks_blocked()
        assert running.written == []

        await trio.sleep(0.1)

        assert [set(marker.partitions) for marker in running.leaders.markers] == [
            {FIRST, SECOND},
            {SECOND},
        ]
        assert running.written == [TRANSACTION]


async def test_markers_of_many_partitions_are_written_in_order_a_few_in_a_turn_of_the_loop(
    autojump_clock: MockClock,
) -> None:
    many = frozenset(TopicPartition("t", number) for number in range(1000))
    transaction = evolve(TRANSACTION, partitions=many)
    async with writing() as running:
        running.writer.send(transaction)
        await wait_all_tasks_blocked()

        parts = [marker.partitions for marker in running.leaders.markers]
        assert max(map(len, parts)) <= 50
        assert [at.partition for part in parts for at in part] == list(range(1000))
        assert running.written == [transaction]


async def test_refused_partitions_do_not_keep_the_others_from_their_markers(
    autojump_clock: MockClock,
) -> None:
    many = frozenset(TopicPartition("t", number) for number in range(1000))

    class HalfLed(Leaders):
        """Partitions with an even number have no leader here."""

        def write(self, marker: TransactionMarker) -> Eventual[Results]:
            self.markers.append(marker)
            return {
                at: ErrorCode.NONE if at.partition % 2 else NOT_LEADER for at in marker.partitions
            }

    async with writing() as running:
        leaders = HalfLed()
        running.writer._markers = leaders
        running.writer.send(evolve(TRANSACTION, partitions=many))
        await wait_all_tasks_blocked()

        progress = running.writer.progress(ID)
        assert progress is not None
        assert {at.partition for at in progress.remaining} == set(range(0, 1000, 2))
        assert progress.errors == {NOT_LEADER}
        assert len(leaders.markers) == 20  # each once, then a pause

        await trio.sleep(0.03)
        assert len(leaders.markers) == 30  # those that were refused, once more


async def test_pause_between_tries_grows_to_one_second(autojump_clock: MockClock) -> None:
    refusals = [dict.fromkeys((FIRST, SECOND), NOT_LEADER) for _ in range(20)]
    async with writing(*refusals) as running:
        running.writer.send(TRANSACTION)
        await trio.sleep(60)

        assert running.written == [TRANSACTION]
        assert len(running.leaders.markers) == 21


async def test_partition_of_a_deleted_topic_needs_no_marker(autojump_clock: MockClock) -> None:
    async with writing() as running:
        running.image = MetadataImage()
        running.writer.send(TRANSACTION)
        await wait_all_tasks_blocked()

        assert (running.leaders.markers, running.written) == ([], [TRANSACTION])


async def test_marker_that_a_newer_coordinator_fences_ends_the_work(
    autojump_clock: MockClock,
) -> None:
    fenced = {FIRST: ErrorCode.TRANSACTION_COORDINATOR_FENCED, SECOND: ErrorCode.NONE}
    async with writing(fenced) as running:
        running.writer.send(TRANSACTION)
        await trio.sleep(10)

        assert (len(running.leaders.markers), running.written) == (1, [])
        assert running.writer.figures()["fenced"] == 1


async def test_markers_wait_for_replicas(autojump_clock: MockClock) -> None:
    async with writing() as running:
        results: dict[TopicPartition, ErrorCode] = {}
        running.leaders.answers.append(running.delayed(results))
        running.writer.send(TRANSACTION)
        await wait_all_tasks_blocked()
        assert running.written == []

        results.update(DONE)
        running.purgatory.mark("replicas")
        await wait_all_tasks_blocked()

        assert running.written == [TRANSACTION]


async def test_markers_that_take_long_are_written_in_slices(autojump_clock: MockClock) -> None:
    def steps() -> Any:
        for _ in range(3):
            yield
        return DONE

    async with writing(Work(steps())) as running:
        running.writer.send(TRANSACTION)
        await wait_all_tasks_blocked()

        assert running.written == [TRANSACTION]


async def test_wait_that_fails_is_tried_again(autojump_clock: MockClock) -> None:
    async with writing() as running:
        results: dict[TopicPartition, ErrorCode] = {}
        running.leaders.answers.append(running.delayed(results))
        running.writer.send(TRANSACTION)
        await trio.sleep(31)

        assert running.written == [TRANSACTION]


async def test_transaction_that_is_sent_again_is_written_from_the_beginning(
    autojump_clock: MockClock,
) -> None:
    async with writing({FIRST: ErrorCode.NONE, SECOND: NOT_LEADER}) as running:
        running.writer.send(TRANSACTION)
        await wait_all_tasks_blocked()
        running.writer.send(TRANSACTION)
        await trio.sleep(10)

        assert [set(marker.partitions) for marker in running.leaders.markers] == [
            {FIRST, SECOND},
            {FIRST, SECOND},
        ]
        assert running.written == [TRANSACTION]


async def test_ended_writer_gives_back_its_waits_and_timers(autojump_clock: MockClock) -> None:
    async with writing() as running:
        running.leaders.answers.append(running.delayed({}))
        running.leaders.answers.append(dict.fromkeys((FIRST, SECOND), NOT_LEADER))
        running.writer.send(TRANSACTION)
        running.writer.send(evolve(TRANSACTION, transactional_id="other"))
        await wait_all_tasks_blocked()
        assert running.purgatory.waiting == 1

    assert running.purgatory.waiting == 0
    assert running.writer.figures()["transactions"] == 0
