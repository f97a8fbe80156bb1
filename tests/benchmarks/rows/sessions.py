"""Polls of a fetch session (KIP-227) in which one partition has news, whatever its size."""

import time
from typing import Final

from tests.benchmarks import protocol
from tests.benchmarks.bounds import times_own
from tests.benchmarks.connection import Connection, connect
from tests.benchmarks.figures import Figure, Figures, Meter
from tests.benchmarks.rows.registry import Target, row
from tests.benchmarks.topics import watermarks

BATCHES: Final = 500
READ, WRITTEN = 0, 1  # the partitions that have news, in `read` and in `woken`
_WAIT_MS: Final = 10_000


def figure_of(size: int, poll: str) -> str:
    return f"{size} partitions, {poll}"


class Session:
    """A fetch session of one connection, over the first partitions of a topic."""

    def __init__(self, connection: Connection, topic: str, offsets: list[int]) -> None:
        """offsets: where each partition is read from, by its number. Nothing lies behind them."""
        self._connection, self._topic = connection, topic
        request = protocol.poll_request(topic, enumerate(offsets), epoch=protocol.FIRST_EPOCH)
        answer = protocol.poll_answer(topic, connection.call(request))
        if answer.error or not answer.session_id or answer.partitions != len(offsets):
            raise ValueError(f"Fetch, a new session of {len(offsets)} partitions: {answer}")
        self.id, self._epoch = answer.session_id, 0

    def ask(
        self, partition: int, offset: int, *, wait_ms: int = _WAIT_MS, partition_size: int = 1
    ) -> None:
        """Poll for all, with a new offset for one. A size of 1 gives one batch of it at most."""
        self._epoch += 1
        self._connection.send(
            protocol.poll_request(
                self._topic,
                [(partition, offset)],
                session_id=self.id,
                epoch=self._epoch,
                wait_ms=wait_ms,
                partition_size=partition_size,
            )
        )

    def answer(self, partition: int) -> None:
        """Take the answer, which is to have bytes of that partition only."""
        answer = protocol.poll_answer(self._topic, self._connection.answer())
        if answer[:4] != (0, self.id, 1, partition) or not answer.records:
            raise ValueError(f"Fetch, want bytes of partition {partition} alone: {answer}")

    def end(self) -> None:
        """Give its place back: it outlives the connection."""
        self._connection.call(
            protocol.poll_request(self._topic, [], session_id=self.id, epoch=protocol.FINAL_EPOCH)
        )


@row(
    "fetch-session-1000",
    times_own(figure_of(1000, "read"), figure_of(10, "read"), must=2, aim=1.2),
    times_own(figure_of(1000, "woken"), figure_of(10, "woken"), must=2, aim=1.2),
    sizes=(10, 1000),
)
def fetch_session(target: Target, sizes: tuple[int, ...]) -> Figures:
    """Server CPU of a poll: one that finds a batch, and one that waits until a batch is written
    (that Produce included). Sizes take turns.
    """
    with target.topic(max(sizes)) as topic:
        write(target, topic)
        figures: dict[str, Figure] = {}
        for measure in (read, woken):
            for size in sizes:
                meter, polls = measure(target, topic, size, target.seconds / 2)
                name = figure_of(size, measure.__name__)
                figures[name] = Figure(meter.server_cpu_s / polls * 1e6, "µs each")
        return figures


def one_record(topic: str, partition: int) -> bytes:
    batch = protocol.record_batch([b"x" * 100])
    return protocol.produce_request(topic, batch, acks=1, first=partition)


def write(target: Target, topic: str) -> None:
    """BATCHES batches of one record, for `read`."""
    request = one_record(topic, READ)
    with connect(target.broker.address) as connection:
        for _ in range(BATCHES):
            if error := protocol.produce_error(topic, connection.call(request)):
                raise ValueError(f"Produce: error {error}")


def read(target: Target, topic: str, size: int, seconds: float) -> tuple[Meter, int]:
    """One batch a poll, from the first to the last and from the beginning again."""
    offsets = ends(target, topic, size)
    with connect(target.broker.address) as connection:
        session = Session(connection, topic, offsets)
        polls = 0
        with target.meter() as meter:
            end = time.perf_counter() + seconds
            while time.perf_counter() < end or not polls:
                session.ask(READ, polls % BATCHES)
                session.answer(READ)
                polls += 1
        session.end()
    return meter, polls


def woken(target: Target, topic: str, size: int, seconds: float) -> tuple[Meter, int]:
    """A poll finds nothing and waits; a Produce of another connection ends the wait."""
    offsets = ends(target, topic, size)
    address, request = target.broker.address, one_record(topic, WRITTEN)
    with connect(address) as connection, connect(address) as producer:
        session = Session(connection, topic, offsets)
        polls = 0
        with target.meter() as meter:
            end = time.perf_counter() + seconds
            while time.perf_counter() < end or not polls:
                session.ask(WRITTEN, offsets[WRITTEN] + polls)
                if error := protocol.produce_error(topic, producer.call(request)):
                    raise ValueError(f"Produce: error {error}")
                session.answer(WRITTEN)
                polls += 1
        session.end()
    return meter, polls


def ends(target: Target, topic: str, size: int) -> list[int]:
    """The end of each partition: a session begins with no news."""
    result = [0] * size
    for number in (READ, WRITTEN):
        result[number] = watermarks(target.broker.bootstrap, topic, number)[1]
    return result
