"""The accumulator and a simple model of it, under any order of events."""

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from trio_kafka.clients.errors import ClosedError
from trio_kafka.clients.producer.accumulator import Accumulator, BatchLimits
from trio_kafka.clients.producer.batch import OBJECT_BYTES, Failed, ProducerBatch, Stored
from trio_kafka.clients.producer.buffer_pool import BufferPool, MemoryWait
from trio_kafka.clients.producer.record import record_bound
from trio_kafka.records.batch import Record, iterate_headers, read_records
from trio_kafka.records.header import HEADER_SIZE

SIZE = 100  # of the records in a batch
LINGER_S = 5.0
EXPIRES_S = 60.0
MEMORY = 2000
PARTITIONS = 5
LEADERS = [0, 0, 0, 0, 1]

partitions = st.integers(0, PARTITIONS - 1)
numbers = st.integers(0, 9)
# Records of which several, two, one fit into a batch, and one that is larger than it.
lengths = st.sampled_from([6, 20, 36, 80, 86, 150])


@dataclass
class ModelBatch:
    """Expected content of a batch. number: in the order of the partition's batches."""

    number: int
    created: float
    values: list[bytes] = field(default_factory=list)
    size: int = 0
    is_full: bool = False
    attempts: int = 0
    not_before: float = 0.0

    @property
    def memory(self) -> int:
        return self.size + OBJECT_BYTES * len(self.values)


class Records(RuleBasedStateMachine):
    """Records come, batches go, end well or not, and go again; accumulator and model agree."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.sent = 0
        self.batches = 0
        self.flushes = 0
        self.waiting: list[list[ModelBatch]] = [[] for _ in range(PARTITIONS)]
        self.in_flight: list[tuple[int, ModelBatch, ProducerBatch]] = []
        self.passed_over = [0] * PARTITIONS
        self.wait: MemoryWait | None = None

    @initialize(in_turn=st.booleans())
    def begin(self, in_turn: bool) -> None:
        self.in_turn = in_turn
        limits = BatchLimits(
            size=HEADER_SIZE + SIZE,
            linger_s=LINGER_S,
            expires_s=EXPIRES_S,
            in_turn=self.in_turn,
        )
        pool = BufferPool(MEMORY)
        self.accumulator = Accumulator(limits=limits, pool=pool, identities=None)

    # --- records

    @rule(places=st.lists(partitions, min_size=1, max_size=6), length=lengths)
    def send(self, places: list[int], length: int) -> None:
        for partition in places:
            self._send(partition, length)

    def _send(self, partition: int, length: int) -> None:
        value = b"%06d" % self.sent + bytes(length - 6)
        size = record_bound(None, value, ())
        if not self.accumulator.pool.try_take(size + OBJECT_BYTES):
            return
        self.sent += 1
        queue = self.accumulator.queue_of("t", partition)
        batch, number = self.accumulator.add(queue, Record(-1, 1, None, value), size, self.now)

        queued = self.waiting[partition]
        last = queued[-1] if queued else None
        if last is None or last.is_full or last.size + size > SIZE:
            if last is not None:
                last.is_full = True
            self.batches += 1
            last = ModelBatch(self.batches, self.now)
            queued.append(last)
        last.values.append(value)
        last.size += size
        last.is_full |= last.size >= SIZE
        assert (number, batch.size, batch.is_full) == (
            len(last.values) - 1,
            last.size,
            last.is_full,
        )
        assert batch.size <= SIZE or batch.count == 1

    @rule(pause_s=st.sampled_from([0.5, 2.0, LINGER_S, 40.0]))
    def pass_time(self, pause_s: float) -> None:
        self.now += pause_s

    @rule()
    def begin_or_end_flush(self) -> None:
        change = -1 if self.flushes else 1
        self.accumulator.flushes += change
        self.flushes += change

    @rule()
    def begin_or_end_wait_for_memory(self) -> None:
        pool = self.accumulator.pool
        if self.wait is not None:
            wait, self.wait = self.wait, None
            pool.withdraw(wait)
            return
        self.wait = pool.wait(MEMORY, self._end_wait)
        if self.wait.granted:
            self._end_wait()

    def _end_wait(self) -> None:
        self.wait = None
        self.accumulator.pool.give_back(MEMORY)

    # --- batches

    def _due_at(self, partition: int) -> float | None:
        """Time at which the next batch of a partition is due; None: nothing may be sent."""
        queued = self.waiting[partition]
        if not queued or (self.in_turn and any(at == partition for at, *_ in self.in_flight)):
            return None
        first = queued[0]
        if first.attempts:
            return first.not_before
        is_urgent = bool(self.flushes or self.wait is not None)
        is_due = first.is_full or len(queued) > 1 or is_urgent
        return first.created if is_due else first.created + LINGER_S

    def _look(self) -> dict[int, set[int]]:
        """Partitions that go, by node: those that may be sent, if one of them is due."""
        times = {partition: self._due_at(partition) for partition in range(PARTITIONS)}
        ready: dict[int, set[int]] = {}
        for node in set(LEADERS):
            own = {at: due for at, due in times.items() if LEADERS[at] == node and due is not None}
            if any(due <= self.now for due in own.values()):
                is_retry = {at: bool(self.waiting[at][0].attempts) for at in own}
                ready[node] = {at for at, due in own.items() if due <= self.now or not is_retry[at]}
        return ready

    @rule(largest=st.sampled_from([50, 160, 1000]), node=st.sampled_from(LEADERS))
    def drain(self, largest: int, node: int) -> None:
        ready = self.accumulator.look(self.now, lambda _, partition: LEADERS[partition])
        expected = self._look()
        assert {
            node: {queue.place.partition for queue in queues}
            for node, queues in ready.by_node.items()
        } == expected
        assert not ready.leaderless
        if node not in expected:
            return
        batches = self.accumulator.drain(ready.by_node[node], largest)

        taken = [batch.place.partition for batch in batches]
        assert taken
        assert len(set(taken)) == len(taken)
        assert set(taken) <= expected[node]
        size = sum(HEADER_SIZE + self.waiting[partition][0].size for partition in taken)
        assert size <= largest or len(taken) == 1
        for partition in expected[node]:
            self.passed_over[partition] += 1
        for partition, batch in zip(taken, batches, strict=True):
            self.passed_over[partition] = 0
            first = self.waiting[partition].pop(0)
            first.is_full = True
            first.attempts += 1
            assert self._values(batch) == first.values
            self.in_flight.append((partition, first, batch))

    @rule(rounds=st.lists(st.lists(partitions, max_size=3), min_size=4, max_size=8))
    def drain_one_by_one(self, rounds: list[list[int]]) -> None:
        """Requests with room for one batch, while more records come."""
        for places in rounds:
            self.send(places, 86)
            self.drain(50, 0)
            if self.in_flight:
                self.end_attempt(len(self.in_flight) - 1, is_stored=True)
            self.no_partition_starves()

    def _values(self, batch: ProducerBatch) -> list[bytes]:
        data = bytes(self.accumulator.close_batch(batch))
        ((at, header),) = iterate_headers(data)
        return [record.value or b"" for record in read_records(data, at, header)]

    @precondition(lambda self: self.in_flight)
    @rule(number=numbers, is_stored=st.booleans())
    def end_attempt(self, number: int, is_stored: bool) -> None:
        _, _, batch = self.in_flight.pop(number % len(self.in_flight))
        assert self.accumulator.landed(batch)
        outcome = Stored() if is_stored else Failed(error=ClosedError("refused"))
        self.accumulator.finish(batch, outcome)
        assert batch.outcome is outcome

    @precondition(lambda self: self.in_flight)
    @rule(number=numbers, pause_s=st.sampled_from([0.0, 1.0]))
    def retry(self, number: int, pause_s: float) -> None:
        partition, expected, batch = self.in_flight.pop(number % len(self.in_flight))
        assert self.accumulator.landed(batch)
        self.accumulator.retry(batch, self.now + pause_s)
        expected.not_before = self.now + pause_s
        self.waiting[partition].append(expected)
        self.waiting[partition].sort(key=lambda queued: queued.number)

    @rule()
    def expire(self) -> None:
        old = [
            (partition, batch)
            for partition, queued in enumerate(self.waiting)
            for batch in queued
            if batch.created + EXPIRES_S <= self.now
        ]
        for partition, batch in old:
            self.waiting[partition].remove(batch)
        flying = [end for end in self.in_flight if end[1].created + EXPIRES_S <= self.now]
        expired = self.accumulator.expired(self.now)

        assert len(expired) == len(old) + len(flying)
        for batch in expired:
            self.accumulator.finish(batch, Failed(error=ClosedError("late")))
        for end in flying:  # their memory is theirs until the broker answers
            assert not self.accumulator.landed(end[2])
            self.in_flight.remove(end)

    # --- what always holds

    @invariant()
    def both_agree(self) -> None:
        accumulator = self.accumulator
        waiting = [batch for queued in self.waiting for batch in queued]
        assert accumulator.counts() == (len(waiting), len(self.in_flight))
        for partition, queued in enumerate(self.waiting):
            assert accumulator.queued("t", partition) == len(queued)
        batches = waiting + [batch for _, batch, _ in self.in_flight]
        assert accumulator.pool.free == MEMORY - sum(batch.memory for batch in batches)
        assert accumulator.is_active == bool(batches)

    @invariant()
    def no_partition_starves(self) -> None:
        """The others of its node go before a ready partition once each, at most."""
        assert max(self.passed_over) < LEADERS.count(0)

    def teardown(self) -> None:
        """All that is left goes in its order, as soon as all batches are due."""
        if self.wait is not None:
            self.accumulator.pool.withdraw(self.wait)
        self.accumulator.is_closing = True
        while self.in_flight:
            self.retry(0, 0.0)
        self.flushes += 1
        for _ in range(MEMORY):
            if not self.accumulator.is_active:
                break
            for node in set(LEADERS):
                self.drain(1000, node)
            while self.in_flight:
                self.end_attempt(0, is_stored=True)
            self.now += 1.0
        assert not any(self.waiting)
        assert self.accumulator.pool.free == MEMORY


Records.TestCase.settings = settings(stateful_step_count=30)
test_any_order_of_records_requests_answers_and_times = Records.TestCase
