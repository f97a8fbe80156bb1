"""Clients above their quotas: each of its own client id, as fast as the broker lets it."""

import struct
from itertools import count

from tests.benchmarks import protocol
from tests.benchmarks.connection import Connection, connect
from tests.benchmarks.rows.raw import make_batch
from tests.benchmarks.soak.load import Load
from tests.benchmarks.soak.many import ANSWER
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.compiler import decoder
from trio_kafka.protocol.messages.k19_create_topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from trio_kafka.testing.scripted_client import request_frame

# Client id: what it may have. Bytes a second, percent of the time, changes a second.
QUOTAS = {
    "over-produce": ("producer_byte_rate", 200_000.0),
    "over-fetch": ("consumer_byte_rate", 200_000.0),
    "over-request": ("request_percentage", 1.0),
    "over-mutation": ("controller_mutation_rate", 1.0),
}
_HEAD = 4 + 2 + 2 + 4  # of a frame up to its client id
_BENCH = len(protocol.string("bench"))


def over_produce(load: Load, topic: str) -> None:
    """Batches of 100 kB to a quota of 200 kB/s."""
    batch = make_batch(100, 100_000)[0]
    request = named(protocol.produce_request(topic, batch, acks=1), "over-produce")
    ask_on(load, request, "produced above a quota")


def over_fetch(load: Load, topic: str) -> None:
    """Half a megabyte at once of 200 kB/s."""
    del topic
    poll = protocol.poll_request(load.full, [(0, 0)], partition_size=600_000)
    ask_on(load, named(poll, "over-fetch"), "fetched above a quota")


def over_request(load: Load, topic: str) -> None:
    """One hundredth of the time is little."""
    request = named(protocol.metadata_request(topic), "over-request")
    ask_on(load, request, "asked above a quota")


def over_mutation(load: Load, topic: str) -> None:
    """Topics that are only asked for, five times as often as they may be."""
    del topic
    numbers = count()
    connection = Connection(load.broker.address, ANSWER)
    for _ in load.paced(0.2):
        expected = CreatableTopic(f"over-{next(numbers)}", 1, 1)
        request = CreateTopicsRequest([expected], validate_only=True)
        try:
            answer = connection.call(request_frame(request, 6, client_id="over-mutation"))
        except ConnectionError:
            connection.socket.close()
            connection = Connection(load.broker.address, ANSWER)
            continue
        result = decoder(CreateTopicsResponse, 6)(answer, 5)[0].topics[0]
        if result.error_code not in (0, ErrorCode.THROTTLING_QUOTA_EXCEEDED):
            raise ValueError(f"CreateTopics: error {result.error_code}: {result.error_message}")
        load.done["changes refused by a quota" if result.error_code else "changes"] += 1
    connection.socket.close()


def ask_on(load: Load, request: bytes, name: str) -> None:
    """One request after the other; the broker is deaf to who has had too much."""
    while not load.stop.is_set():
        with connect(load.broker.address, 1 << 20) as connection:
            connection.socket.settimeout(60)
            try:
                while not load.stop.is_set():
                    connection.call(request)
                    load.done[name] += 1
            except ConnectionError:
                load.done["came again"] += 1


def named(frame: bytes, client_id: str) -> bytes:
    """The same request of another client."""
    payload = frame[4:_HEAD] + protocol.string(client_id) + frame[_HEAD + _BENCH :]
    return struct.pack(">i", len(payload)) + payload
