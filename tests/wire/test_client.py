"""The client's side of the wire: what it sends, and what it makes of what comes."""

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.errors import ProtocolError
from trio_kafka.protocol.compiler import to_bytes
from trio_kafka.protocol.errors import DecodeError, EncodeError
from trio_kafka.protocol.messages.k00_produce import ProduceRequest
from trio_kafka.protocol.messages.k18_api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from trio_kafka.protocol.messages.k22_init_producer_id import InitProducerIdRequest
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse, ReadRequest, ReadResponse
from trio_kafka.wire.client import ClientSide, common_version
from trio_kafka.wire.server import answer, small_answer


def echo_answer(correlation: int, text: str, version: int = 0) -> bytes:
    body = to_bytes(EchoResponse(text=text), version)
    return small_answer(correlation, body, flexible=version >= 1)


def all_of(client: ClientSide) -> list[Any]:
    return list(iter(client.next, None))


def test_a_request_has_header_1_and_in_a_flexible_version_header_2() -> None:
    client = ClientSide("me")

    assert client.ask(EchoRequest("ab", 7), 0).hex() == (
        "00000014" + "2774" + "0000" + "00000001" + "00026d65" + "00026162" + "00000007"
    )
    assert client.ask(EchoRequest("ab", 7), 1).hex() == (
        "00000015" + "2774" + "0001" + "00000002" + "00026d65" + "00" + "036162" + "00000007" + "00"
    )


def test_a_client_without_a_name_says_null() -> None:
    assert ClientSide().ask(EchoRequest(), 0)[12:14] == b"\xff\xff"


def test_what_has_no_answer_or_no_such_value_is_not_sent() -> None:
    client = ClientSide()

    with pytest.raises(TypeError, match="EchoResponse is no request"):
        client.ask(EchoResponse(), 0)
    with pytest.raises(EncodeError):
        client.ask(EchoRequest(), 2)
    assert client.waiting == 0


@pytest.mark.parametrize("version", [0, 1])
def test_an_answer_is_there_when_its_last_byte_is(version: int) -> None:
    client = ClientSide()
    client.ask(EchoRequest("x"), version)
    data = echo_answer(1, "x", version)

    for position in range(len(data) - 1):
        client.received(data[position : position + 1])
        assert client.next() is None
    client.received(data[-1:])

    assert client.next() == EchoResponse(text="x")
    assert (client.next(), client.waiting) == (None, 0)


@given(st.lists(st.tuples(st.text(max_size=9), st.sampled_from([0, 1])), max_size=6), st.data())
def test_answers_come_in_the_order_of_the_requests_however_they_are_cut(
    asked: list[tuple[str, int]], data: st.DataObject
) -> None:
    client = ClientSide()
    for text, version in asked:
        client.ask(EchoRequest(text), version)
    stream = b"".join(
        echo_answer(n, text, version) for n, (text, version) in enumerate(asked, start=1)
    )

    found = []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        client.received(stream[:size])
        stream = stream[size:]
        found += [one.text for one in all_of(client)]

    assert found == [text for text, _ in asked]
    client.end()


def test_a_request_without_an_answer_is_not_waited_for() -> None:
    client = ClientSide()
    client.ask(ProduceRequest(acks=0), 13, answered=False)
    client.ask(EchoRequest(), 0)
    client.received(echo_answer(2, "second"))

    assert client.next().text == "second"


def test_correlation_ids_begin_again_where_they_end() -> None:
    client = ClientSide()
    client._correlation = 0x7FFFFFFE

    ids = [struct.unpack_from(">i", client.ask(EchoRequest(), 0), 8)[0] for _ in range(3)]

    assert ids == [0x7FFFFFFF, 0, 1]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (echo_answer(2, "x"), "answer 2: want 1"),
        (b"HTTP/1.1", "answer of 1213486160 bytes: want 4 to 1000"),
        (struct.pack(">i", 1001), "answer of 1001 bytes: want 4 to 1000"),
        (struct.pack(">i", 3), "answer of 3 bytes"),
        (struct.pack(">i", -1), "answer of -1 bytes"),
        (small_answer(1, to_bytes(EchoResponse(), 0) + b"!", flexible=False), "EchoResponse of"),
    ],
)
def test_bytes_that_are_no_answer_are_an_error(data: bytes, message: str) -> None:
    client = ClientSide(largest=1000)
    client.ask(EchoRequest(), 0)
    client.received(data)

    with pytest.raises(ProtocolError, match=message):
        client.next()


def test_an_answer_that_is_too_short_for_its_message_is_an_error() -> None:
    client = ClientSide()
    client.ask(EchoRequest(), 0)
    client.received(small_answer(1, b"\0", flexible=False))

    with pytest.raises(DecodeError):
        client.next()


def test_an_answer_to_nothing_is_an_error() -> None:
    client = ClientSide()
    client.received(echo_answer(1, "x"))

    with pytest.raises(ProtocolError, match="answer 1: want none"):
        client.next()


def test_a_stream_that_ends_too_early_says_what_is_missing() -> None:
    client = ClientSide()
    client.end()
    client.ask(EchoRequest(), 0)
    client.received(b"\0\0")

    with pytest.raises(ProtocolError, match="2 bytes of an answer: want answers to 1 requests"):
        client.end()


def test_records_of_an_answer_outlive_what_comes_after_it() -> None:
    client = ClientSide()
    for _ in range(2):
        client.ask(ReadRequest(), 0)
    for n, data in enumerate((b"first", b"other"), start=1):
        body: list[bytes] = [to_bytes(ReadResponse(data=memoryview(data)), 0)]
        client.received(b"".join(answer(n, body, flexible=False)))

    first, second = all_of(client)

    assert (bytes(first.data), bytes(second.data)) == (b"first", b"other")


def test_an_answer_is_read_in_the_buffer_where_its_caller_put_it() -> None:
    client = ClientSide(largest=1000)
    client.ask(ReadRequest(), 0)
    body: list[bytes] = [to_bytes(ReadResponse(data=memoryview(b"data")), 0)]
    data = b"".join(answer(1, body, flexible=False))

    frame = bytearray(client.size_of(data[:4]))
    frame[:] = data[4:]
    found = client.answer_in(frame).data
    frame[-4:] = b"DATA"

    assert bytes(found) == b"DATA"
    assert client.waiting == 0


@pytest.mark.parametrize("size", [-1, 3, 1001])
def test_a_size_that_no_answer_has_is_an_error_before_a_buffer_is_made(size: int) -> None:
    with pytest.raises(ProtocolError, match=f"answer of {size} bytes: want 4 to 1000"):
        ClientSide(largest=1000).size_of(struct.pack(">i", size))


def test_api_versions_has_header_0_and_says_in_version_0_that_a_version_is_unknown() -> None:
    served = [ApiVersion(18, 0, 3)]
    client = ClientSide()
    client.ask(ApiVersionsRequest("me", "1"), 3)
    client.ask(ApiVersionsRequest("me", "1"), 4)
    client.received(small_answer(1, to_bytes(ApiVersionsResponse(0, served), 3), flexible=False))
    client.received(small_answer(2, to_bytes(ApiVersionsResponse(35, served), 0), flexible=False))

    known, unknown = all_of(client)

    assert (known.error_code, known.api_keys) == (0, served)
    assert (unknown.error_code, unknown.api_keys) == (35, served)


@pytest.mark.parametrize(
    ("first", "last", "version"),
    [(0, 0, 0), (0, 1, 1), (1, 9, 1), (-3, 0, 0), (2, 9, None), (-2, -1, None), (1, 0, None)],
)
def test_the_highest_version_that_both_know_is_chosen(
    first: int, last: int, version: int | None
) -> None:
    assert common_version(EchoRequest, [ApiVersion(10100, first, last)]) == version


def test_what_is_not_served_has_no_version_and_an_unstable_one_is_not_chosen() -> None:
    assert common_version(EchoRequest, [ApiVersion(18, 0, 5)]) is None
    assert common_version(InitProducerIdRequest, [ApiVersion(22, 0, 6)]) == 5
