"""Requests are read and answers written, in the version asked for."""

import struct
from typing import cast

import pytest

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode, ProtocolError
from trio_kafka.introspect.stamps import Stamps
from trio_kafka.network.connection import Connection
from trio_kafka.network.request import Request
from trio_kafka.protocol.compiler import decoder, to_bytes
from trio_kafka.requests.api import api, api_of
from trio_kafka.requests.replies import Encoded, Route, make_route
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse, ReadRequest, ReadResponse
from trio_kafka.testing.scripted_client import request_frame


@api(EchoRequest)
def echo(request: object, context: object) -> None: ...


@api(ReadRequest)
def read(request: object, context: object) -> None: ...


@define
class Peer:
    """A connection, as far as a client id is concerned."""

    latest_client_id: str = ""
    raw_client_id: bytes = b""


def new_request(correlation: int, client_length: int = 0, peer: Peer | None = None) -> Request:
    """A request of nobody."""
    return Request(
        None,
        0,
        correlation,
        client_length,
        cast("Connection", peer or Peer()),
        Stamps(received=0.0, begun=0.0),
    )


def client_id_of(raw: bytes | None, peer: Peer, *, length: int | None = None) -> str:
    """Client id of a decoded request. raw: as sent. length: what the frame says of it."""
    size = -1 if raw is None else len(raw)
    head = struct.pack(">hhih", 10100, 0, 0, size) + (raw or b"")
    request = new_request(0, size if length is None else length, peer)
    route(echo, 0).read(request, memoryview(head + to_bytes(EchoRequest("hello", 5), 0)))
    return request.client_id


def route(handler: object, version: int) -> Route:
    handler_api = api_of(handler)
    assert handler_api is not None
    return make_route(handler_api, version)


def test_a_client_id_is_decoded_once_until_it_changes() -> None:
    peer = Peer()

    first = client_id_of(b"one", peer)
    assert first == "one"
    assert client_id_of(b"one", peer) is first
    assert client_id_of(b"two", peer) == "two"
    assert client_id_of(b"two more", peer) == "two more"
    assert client_id_of(None, peer) == ""


def test_a_client_id_that_is_no_text_or_too_long_is_refused_and_the_last_one_stays() -> None:
    peer = Peer()
    client_id_of(b"one", peer)

    with pytest.raises(UnicodeDecodeError):
        client_id_of(b"\xff", peer)
    with pytest.raises(ProtocolError):
        client_id_of(b"one", peer, length=5000)
    assert (peer.latest_client_id, peer.raw_client_id) == ("one", b"one")


@pytest.mark.parametrize("version", [0, 1])
def test_route_decodes_a_request_and_encodes_a_response(version: int) -> None:
    way = route(echo, version)
    frame = memoryview(request_frame(EchoRequest("hello", 5), version, client_id="ab"))[4:]

    assert way.read(new_request(0, 2), frame) == EchoRequest("hello", 5)

    (data,) = way.write(new_request(99), EchoResponse(text="hi", number=1))
    size, correlation = struct.unpack_from(">ii", data)
    assert (size, correlation) == (len(data) - 4, 99)
    assert decoder(EchoResponse, version)(data, 8 + version)[0].text == "hi"
    body = to_bytes(EchoResponse(text="hi", number=1), version)
    assert way.write(new_request(99), Encoded(body)) == (data,)


def test_undecodable_request_is_a_protocol_error() -> None:
    frame = memoryview(request_frame(EchoRequest("hello", 5), 0, client_id="ab"))[4:]

    with pytest.raises(ProtocolError):
        route(echo, 0).read(new_request(0, 2), frame[:-1])


def test_file_range_in_a_response_is_a_segment_of_the_encoded_response() -> None:
    class Range:
        def __len__(self) -> int:
            return 1000

    data = Range()
    segments = route(read, 0).write(new_request(1), ReadResponse(data))  # type: ignore[arg-type]

    assert segments[1] is data
    assert struct.unpack_from(">i", segments[0]) == (sum(map(len, segments)) - 4,)


def test_api_uses_its_own_error_response_or_the_generic_error_response() -> None:
    def say(request: EchoRequest, code: ErrorCode, message: str | None) -> EchoResponse:
        return EchoResponse(error_code=code, text=request.text)

    @api(EchoRequest, error=say)
    def special(request: object, context: object) -> None: ...

    code = ErrorCode.INVALID_REQUEST
    assert route(special, 0).error(EchoRequest("a"), code, "why") == EchoResponse(42, text="a")
    assert route(echo, 0).error(EchoRequest("a"), code, "why") == EchoResponse(42, "why", "a", 0)
    assert route(read, 0).error(ReadRequest(), code, "why") is None
