"""Many connections of mixed load: producers, askers, fetchers, and polls that are parked.

The broker may close any of them between two requests, as its processors come and go: they come
again.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from tests.benchmarks import protocol
from tests.benchmarks.connection import Connection
from tests.benchmarks.soak.load import Load

ANSWER = 1 << 17
PARKED_MS = 2000
Answer = Callable[[memoryview], int]


def produce_much(load: Load, topic: str) -> None:
    """A batch of 1 kB, acks=1, to each of four partitions."""
    batch = protocol.record_batch([b"x" * 1000])
    requests = [protocol.produce_request(topic, batch, acks=1, first=number) for number in range(4)]
    in_turn(load, requests, "produce", lambda answer: protocol.produce_error(topic, answer))


def ask_much(load: Load, topic: str) -> None:
    """Metadata and ApiVersions."""
    requests = [protocol.metadata_request(topic), protocol.frame(protocol.API_VERSIONS, 0)]
    in_turn(load, requests, "ask", lambda answer: 0)


def fetch_much(load: Load, topic: str) -> None:
    """A batch of what does not change."""
    del topic
    requests = [protocol.poll_request(load.full, [(0, 0)], partition_size=1000)]

    def error(answer: memoryview) -> int:
        polled = protocol.poll_answer(load.full, answer)
        return polled.error if polled.records else -1

    in_turn(load, requests, "fetch", error)


def in_turn(load: Load, requests: Sequence[bytes], name: str, error: Answer) -> None:
    """One connection after the other asks, each every two seconds."""
    count = max(load.connections // 4, 1)
    with group(load, count) as connections:
        for number in load.paced(2 / count):
            request = requests[number % len(requests)]
            while True:
                try:
                    answer = connections[number % count].call(request)
                except ConnectionError:
                    come_again(load, connections, number % count)
                    continue
                load.check(name, error(answer))
                break


def park_much(load: Load, topic: str) -> None:
    """Polls that nothing comes to, all of them parked for two seconds, and again."""
    del topic
    count = max(load.connections // 4, 1)
    with group(load, count) as connections:
        end = high_watermark(load, connections[0])
        poll = protocol.poll_request(load.full, [(0, end)], wait_ms=PARKED_MS)
        for _ in load.paced(PARKED_MS / 1000 + 0.5):
            numbers = []
            for number in range(count):
                try:
                    connections[number].send(poll)
                    numbers.append(number)
                except ConnectionError:
                    come_again(load, connections, number)
            for number in numbers:
                try:
                    answer = connections[number].answer()
                except ConnectionError:
                    come_again(load, connections, number)
                    continue
                load.check("parked poll", protocol.poll_answer(load.full, answer).error)


def high_watermark(load: Load, connection: Connection) -> int:
    """Of the topic that does not change."""
    answer = connection.call(protocol.fetch_request(load.full, 0, 1000))
    return protocol.fetch_answer(load.full, answer)[1]


def come_again(load: Load, connections: list[Connection], number: int) -> None:
    """In place of one that the broker has closed. Raises OSError."""
    connections[number].socket.close()
    connections[number] = Connection(load.broker.address, ANSWER)
    load.done["came again"] += 1


@contextmanager
def group(load: Load, count: int) -> Iterator[list[Connection]]:
    """So many connections, or those that came in their place."""
    connections: list[Connection] = []
    with ExitStack() as stack:
        stack.callback(lambda: [connection.socket.close() for connection in connections])
        connections += (Connection(load.broker.address, ANSWER) for _ in range(count))
        yield connections
