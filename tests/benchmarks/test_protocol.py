import struct

import pytest
from crc32c import crc32c

from tests.benchmarks import protocol
from trio_kafka.protocol.compiler import decoder, to_bytes
from trio_kafka.protocol.messages.k00_produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from trio_kafka.protocol.messages.k01_fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)

HEADER = 4 + 2 + 2 + 4 + 2 + len("bench")
CORRELATION = b"\0\0\0\7"


def test_encoded_batch_has_the_layout_of_magic_2() -> None:
    batch = protocol.record_batch([b"a" * 100, b"b" * 100])

    base, length, epoch, magic, crc, attributes, last = struct.unpack_from(">qiibIhi", batch)
    assert (base, length, epoch, magic) == (0, len(batch) - 12, -1, 2)
    assert crc == crc32c(batch[21:])
    assert (attributes, last) == (0, 1)
    assert struct.unpack_from(">i", batch, 57) == (2,)


@pytest.mark.parametrize(
    ("value", "encoded"),
    [(0, "00"), (-1, "01"), (1, "02"), (63, "7e"), (64, "8001"), (108, "d801")],
)
def test_varints_are_encoded_as_zigzag(value: int, encoded: str) -> None:
    assert protocol.varint(value).hex() == encoded


def test_request_frame_consists_of_length_header_and_body() -> None:
    frame = protocol.frame(protocol.API_VERSIONS, 0, b"body")

    assert frame == bytes.fromhex("00000013 0012 0000 00000007 0005") + b"bench" + b"body"


def test_fields_of_produce_and_fetch_responses_are_read_at_the_right_offsets() -> None:
    name = protocol.string("t")
    produce = struct.pack(">ii", 7, 1) + name + struct.pack(">iih", 1, 0, 35)
    fetch = struct.pack(">iii", 7, 0, 1) + name + struct.pack(">iihqqi", 1, 0, 0, 9, 9, 1)
    fetch += struct.pack(">qq", 5, 6) + struct.pack(">i", 1234) + bytes(1234)

    assert protocol.produce_error("t", memoryview(produce)) == 35
    assert protocol.fetch_answer("t", memoryview(fetch)) == (0, 9, 1234)


def test_produce_request_contains_the_batch_for_each_partition() -> None:
    batch = protocol.record_batch([b"a"])

    frame = protocol.produce_request("t", batch, acks=1, partitions=3, first=5)

    request, end = decoder(ProduceRequest, 7)(memoryview(frame), HEADER)
    assert end == len(frame)
    parts = request.topic_data[0].partition_data
    assert [(part.index, bytes(part.records)) for part in parts] == [
        (5, batch),
        (6, batch),
        (7, batch),
    ]
    assert (request.acks, request.topic_data[0].name) == (1, "t")


@pytest.mark.parametrize("codes", [[0], [0, 0, 35], [3, 0, 35], [0, 0, 0]])
def test_first_partition_error_of_a_produce_response_is_returned(codes: list[int]) -> None:
    parts = [PartitionProduceResponse(n, code) for n, code in enumerate(codes)]
    response = ProduceResponse([TopicProduceResponse("topic", partition_responses=parts)])

    answer = memoryview(CORRELATION + to_bytes(response, 7))

    assert protocol.produce_error("topic", answer) == next(filter(None, codes), 0)


def test_fetch_request_contains_the_session_and_the_changed_partitions() -> None:
    frame = protocol.poll_request(
        "t", [(3, 40), (4, 0)], session_id=9, epoch=2, wait_ms=77, partition_size=1
    )

    request, end = decoder(FetchRequest, 7)(memoryview(frame), HEADER)
    assert end == len(frame)
    assert (request.session_id, request.session_epoch) == (9, 2)
    assert (request.max_wait_ms, request.min_bytes) == (77, 1)
    (topic,) = request.topics
    expected = [
        (partition.partition, partition.fetch_offset, partition.partition_max_bytes)
        for partition in topic.partitions
    ]
    assert (topic.topic, expected) == ("t", [(3, 40, 1), (4, 0, 1)])
    assert request.forgotten_topics_data == []


def test_fetch_request_without_changed_partitions_contains_no_topic() -> None:
    frame = protocol.poll_request("t", [], session_id=9, epoch=protocol.FINAL_EPOCH)

    request, _ = decoder(FetchRequest, 7)(memoryview(frame), HEADER)

    assert (request.topics, request.session_epoch) == ([], -1)


@pytest.mark.parametrize("aborted", [None, [], [AbortedTransaction(1, 2)]])
def test_first_partition_of_a_fetch_response_is_returned(
    aborted: list[AbortedTransaction] | None,
) -> None:
    first = PartitionData(8, 6, 70, 60, 50, aborted_transactions=aborted, records=b"records")
    topic = FetchableTopicResponse("topic", partitions=[first, PartitionData(9)])

    polled = protocol.poll_answer("topic", memoryview(to_fetch_answer(0, topic)))

    assert polled == (6, 12, 2, 8, b"records")


def test_fetch_response_without_partitions_is_read() -> None:
    assert protocol.poll_answer("t", memoryview(to_fetch_answer(0))) == (0, 12, 0, -1, b"")
    assert protocol.poll_answer("t", memoryview(to_fetch_answer(70))).error == 70


def to_fetch_answer(error: int, *topics: FetchableTopicResponse) -> bytes:
    response = FetchResponse(error_code=error, session_id=12, responses=list(topics))
    return CORRELATION + to_bytes(response, 7)


def test_next_offset_follows_the_last_complete_batch() -> None:
    first, second = protocol.record_batch([b"a", b"b"]), bytearray(protocol.record_batch([b"c"]))
    second[:8] = (2).to_bytes(8)

    assert protocol.next_offset(b"") is None
    assert protocol.next_offset(first[:-1]) is None
    assert protocol.next_offset(first) == 2
    assert protocol.next_offset(first + bytes(second[:-1])) == 2
    assert protocol.next_offset(memoryview(first + bytes(second))) == 3
