"""Frames as data."""

import pytest

from trio_kafka.cli.decode.frames import (
    RequestKind,
    api_key,
    correlation_of,
    read_request,
    read_response,
    strip_size,
)
from trio_kafka.protocol.compiler import to_bytes
from trio_kafka.protocol.messages.k12_heartbeat import HeartbeatResponse

HEARTBEAT = bytes.fromhex("000c0000 00000007 0003612d31 000167 00000002 00016d".replace(" ", ""))


def test_request_is_shown_with_its_header():
    data, kind, correlation = read_request(HEARTBEAT)

    assert data == {
        "api": "Heartbeat",
        "key": 12,
        "version": 0,
        "correlation_id": 7,
        "client_id": "a-1",
        "request": {
            "group_id": "g",
            "generation_id": 2,
            "member_id": "m",
            "group_instance_id": None,
        },
    }
    assert (kind, correlation) == (RequestKind(key=12, version=0), 7)


def test_response_is_read_by_the_kind_of_its_request():
    frame = b"\0\0\0\7" + to_bytes(HeartbeatResponse(error_code=27), 0)

    data = read_response(frame, RequestKind(key=12, version=0))

    assert correlation_of(frame) == 7
    assert data["api"] == "Heartbeat"
    assert data["response"]["error_code"] == 27


def test_length_in_front_is_optional():
    sized = len(HEARTBEAT).to_bytes(4, "big") + HEARTBEAT

    assert strip_size(sized) == strip_size(HEARTBEAT) == HEARTBEAT


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (b"", "0 bytes: want at least 8"),
        (b"\x7f\xff" + bytes(8), "API key 32767 is not known"),
        (HEARTBEAT[:-1], "Heartbeat"),
        (HEARTBEAT + b"\0", "1 bytes after its end"),
        (b"\0\x0c\0\x63" + HEARTBEAT[4:], "Heartbeat"),
    ],
)
def test_wrong_frame_says_what_is_wrong(frame, words):
    with pytest.raises(ValueError) as failure:
        read_request(frame)

    assert words in str(failure.value)


def test_api_is_named_in_any_case_or_by_its_key():
    assert api_key("FETCH") == api_key("1") == 1
    with pytest.raises(ValueError, match="no API has the name or key 'x'"):
        api_key("x")
