"""Frames of requests, and responses in frames."""

import struct

import pytest

from trio_kafka.errors import ProtocolError
from trio_kafka.protocol.compiler import to_bytes
from trio_kafka.protocol.errors import DecodeError, EncodeError
from trio_kafka.protocol.messages.k18_api_versions import ApiVersion, ApiVersionsResponse
from trio_kafka.protocol.messages.k22_init_producer_id import InitProducerIdRequest
from trio_kafka.protocol.schema import message_of
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse
from trio_kafka.wire.client import (
    common_version,
    correlation_of,
    decode_response,
    request_frame,
    response_class,
    response_size,
    stable_versions,
)
from trio_kafka.wire.server import small_answer


def echo_frame(text: str, version: int) -> bytes:
    body = to_bytes(EchoResponse(text=text), version)
    return small_answer(1, body, flexible=version >= 1)[4:]


def test_request_has_header_1_and_in_a_flexible_version_header_2() -> None:
    request = EchoRequest("ab", 7)

    assert request_frame(request, 0, correlation=1, client_id="me").hex() == (
        "00000014" + "2774" + "0000" + "00000001" + "00026d65" + "00026162" + "00000007"
    )
    assert request_frame(request, 1, correlation=2, client_id="me").hex() == (
        "00000015" + "2774" + "0001" + "00000002" + "00026d65" + "00" + "036162" + "00000007" + "00"
    )


def test_request_without_a_client_id_has_null_in_its_place() -> None:
    assert request_frame(EchoRequest(), 0)[12:14] == b"\xff\xff"


def test_encoding_a_response_class_or_an_unknown_version_as_a_request_fails() -> None:
    with pytest.raises(TypeError, match="EchoResponse is not a request"):
        request_frame(EchoResponse(), 0)
    with pytest.raises(EncodeError):
        request_frame(EchoRequest(), 2)


def test_only_requests_have_a_response_class() -> None:
    assert response_class(EchoRequest()) is EchoResponse
    with pytest.raises(TypeError, match="EchoResponse is no request with a response"):
        response_class(EchoResponse())


@pytest.mark.parametrize("version", [0, 1])
def test_response_is_decoded_from_its_frame(version: int) -> None:
    frame = echo_frame("x", version)

    assert correlation_of(frame) == 1
    assert decode_response(EchoResponse, version, frame) == EchoResponse(text="x")


def test_frame_that_is_longer_or_shorter_than_its_response_is_an_error() -> None:
    frame = echo_frame("x", 0)

    with pytest.raises(ProtocolError, match="EchoResponse of 16 bytes: want 15"):
        decode_response(EchoResponse, 0, frame + b"!")
    with pytest.raises(DecodeError):
        decode_response(EchoResponse, 0, frame[:-1])


@pytest.mark.parametrize("size", [-1, 3, 1001])
def test_a_response_size_out_of_bounds_is_an_error(size: int) -> None:
    with pytest.raises(ProtocolError, match=f"answer of {size} bytes: want 4 to 1000"):
        response_size(struct.pack(">i", size), 1000)


def test_api_versions_response_uses_header_0_and_version_0_when_rejecting_the_version() -> None:
    served = [ApiVersion(18, 0, 3)]
    answer = small_answer(1, to_bytes(ApiVersionsResponse(0, served), 3), flexible=False)[4:]
    unknown = small_answer(2, to_bytes(ApiVersionsResponse(35, served), 0), flexible=False)[4:]

    for frame, code, version in ((answer, 0, 3), (unknown, 35, 4)):
        response = decode_response(ApiVersionsResponse, version, frame)
        assert (response.error_code, response.api_keys) == (code, served)


@pytest.mark.parametrize(
    ("first", "last", "version"),
    [(0, 0, 0), (0, 1, 1), (1, 9, 1), (-3, 0, 0), (2, 9, None), (-2, -1, None), (1, 0, None)],
)
def test_common_version_is_the_highest_supported_by_both_sides(
    first: int, last: int, version: int | None
) -> None:
    assert common_version(message_of(EchoRequest), (first, last)) == version


def test_unstable_version_is_never_the_common_version() -> None:
    message = message_of(InitProducerIdRequest)

    assert stable_versions(message) == (0, 5)
    assert common_version(message, (0, 6)) == 5
