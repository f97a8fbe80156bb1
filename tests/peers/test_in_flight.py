"""Requests in flight: what is sent, and which response belongs to which request."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.errors import ProtocolError
from trio_kafka.peers.errors import StreamEndedError
from trio_kafka.peers.in_flight import InFlightRequests
from trio_kafka.protocol.compiler import to_bytes
from trio_kafka.protocol.errors import EncodeError
from trio_kafka.protocol.messages.k00_produce import ProduceRequest
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse, ReadRequest, ReadResponse
from trio_kafka.wire.server import answer, small_answer


def echo_answer(correlation: int, text: str, version: int = 0) -> bytes:
    body = to_bytes(EchoResponse(text=text), version)
    return small_answer(correlation, body, flexible=version >= 1)


def receive(requests: InFlightRequests, data: bytes) -> list[object]:
    """All responses in these bytes, received as far as the room reaches each time."""
    responses = []
    while data:
        room = requests.room()
        count = min(len(room), len(data))
        room[:count] = data[:count]
        data = data[count:]
        response = requests.received(count)
        if response is not None:
            responses.append(response)
    return responses


def test_correlation_ids_count_up_and_restart_at_0_after_the_largest() -> None:
    requests = InFlightRequests("me")
    assert requests.add(EchoRequest(), 0)[8:12] == b"\0\0\0\1"
    requests._correlation = 0x7FFFFFFE

    ids = [struct.unpack_from(">i", requests.add(EchoRequest(), 0), 8)[0] for _ in range(3)]

    assert ids == [0x7FFFFFFF, 0, 1]


def test_message_that_cannot_be_sent_is_not_in_flight() -> None:
    requests = InFlightRequests()

    with pytest.raises(TypeError, match="EchoResponse is no request"):
        requests.add(EchoResponse(), 0)
    with pytest.raises(EncodeError):
        requests.add(EchoRequest(), 2)
    assert len(requests) == 0
    assert requests.oldest is None


@pytest.mark.parametrize("version", [0, 1])
def test_response_is_complete_with_its_last_byte(version: int) -> None:
    requests = InFlightRequests()
    requests.add(EchoRequest("x"), version)
    data = echo_answer(1, "x", version)

    for position in range(len(data) - 1):
        assert receive(requests, data[position : position + 1]) == []
    assert receive(requests, data[-1:]) == [EchoResponse(text="x")]
    assert len(requests) == 0


@pytest.mark.slow
@given(st.lists(st.tuples(st.text(max_size=9), st.sampled_from([0, 1])), max_size=6), st.data())
def test_responses_are_in_the_order_of_the_requests_whatever_the_sizes_of_the_pieces(
    texts: list[tuple[str, int]], data: st.DataObject
) -> None:
    requests = InFlightRequests()
    for text, version in texts:
        requests.add(EchoRequest(text), version)
    stream = b"".join(
        echo_answer(number, text, version) for number, (text, version) in enumerate(texts, start=1)
    )

    responses: list[object] = []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        responses += receive(requests, stream[:size])
        stream = stream[size:]

    assert responses == [EchoResponse(text=text) for text, _ in texts]


def test_request_without_a_response_is_not_in_flight() -> None:
    requests = InFlightRequests()
    requests.add(ProduceRequest(acks=0), 13, is_answered=False)
    requests.add(EchoRequest(), 0)

    assert receive(requests, echo_answer(2, "second")) == [EchoResponse(text="second")]


def test_deadline_is_the_earliest_of_all_requests_in_flight() -> None:
    requests = InFlightRequests()
    assert requests.deadline == float("inf")
    requests.add(EchoRequest(), 0, deadline=9.0)
    requests.add(EchoRequest(), 0, deadline=4.0)

    assert requests.deadline == 4.0
    receive(requests, echo_answer(1, "") + echo_answer(2, ""))
    assert requests.deadline == float("inf")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (echo_answer(2, "x"), "answer 2: want 1"),
        (b"HTTP/1.1", "answer of 1213486160 bytes: want 4 to 1000"),
        (struct.pack(">i", 1001), "answer of 1001 bytes: want 4 to 1000"),
        (struct.pack(">i", 3), "answer of 3 bytes"),
        (small_answer(1, to_bytes(EchoResponse(), 0) + b"!", flexible=False), "EchoResponse of"),
    ],
)
def test_bytes_that_are_no_response_are_an_error(data: bytes, message: str) -> None:
    requests = InFlightRequests(largest=1000)
    requests.add(EchoRequest(), 0)

    with pytest.raises(ProtocolError, match=message):
        receive(requests, data)


def test_response_to_no_request_is_an_error() -> None:
    with pytest.raises(ProtocolError, match="answer 1: want none"):
        receive(InFlightRequests(), echo_answer(1, "x"))


@pytest.mark.parametrize(
    ("received", "missing"), [(b"", 4), (b"\0\0", 2), (b"\0\0\0\x09\1\1\1", 6)]
)
def test_stream_that_ends_within_a_response_names_the_missing_bytes(
    received: bytes, missing: int
) -> None:
    requests = InFlightRequests()
    requests.add(EchoRequest(), 0)
    receive(requests, received)

    with pytest.raises(StreamEndedError, match=f"{missing} bytes are missing") as ended:
        requests.received(0)
    assert ended.value.missing == missing


def test_records_of_a_response_are_not_changed_by_later_responses() -> None:
    requests, stream = InFlightRequests(), b""
    for number, data in enumerate((b"first", b"other"), start=1):
        requests.add(ReadRequest(), 0)
        body: list[bytes] = [to_bytes(ReadResponse(data=memoryview(data)), 0)]
        stream += b"".join(answer(number, body, flexible=False))

    first, second = receive(requests, stream)

    assert isinstance(first, ReadResponse)
    assert isinstance(second, ReadResponse)
    assert first.data is not None
    assert (bytes(first.data), bytes(second.data or b"")) == (b"first", b"other")
    assert first.data.readonly
    assert first.data.obj is not None
