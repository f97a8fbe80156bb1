import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.protocol.compiler import to_bytes
from trio_kafka.protocol.errors import DecodeError
from trio_kafka.protocol.headers import (
    RequestHeader,
    ResponseHeader,
    parse_request_head,
    request_header_version,
    response_header_version,
)
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest, MetadataResponse
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest, ApiVersionsResponse
from trio_kafka.protocol.schema import message_of

INT16 = st.integers(-(1 << 15), (1 << 15) - 1)
INT32 = st.integers(-(1 << 31), (1 << 31) - 1)
CLIENT_IDS = st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=200)


def test_flexible_versions_have_the_later_header() -> None:
    request, response = message_of(MetadataRequest), message_of(MetadataResponse)

    assert [request_header_version(request, version) for version in (0, 8, 9, 13)] == [1, 1, 2, 2]
    assert [response_header_version(response, version) for version in (0, 8, 9, 13)] == [0, 0, 1, 1]


def test_an_answer_to_api_versions_has_header_0_in_every_version() -> None:
    request, response = message_of(ApiVersionsRequest), message_of(ApiVersionsResponse)

    assert [response_header_version(response, version) for version in range(6)] == [0] * 6
    assert [response_header_version(request, version) for version in range(6)] == [0] * 6
    assert request_header_version(request, 99) == 2  # a client of the future is still understood


@given(INT16, INT16, INT32, CLIENT_IDS, st.booleans(), st.binary(max_size=4))
def test_the_head_of_a_frame_is_what_the_header_says(
    key: int, version: int, correlation: int, client: str | None, flexible: bool, body: bytes
) -> None:
    header = RequestHeader(key, version, correlation, client)
    encoded = to_bytes(header, 2 if flexible else 1)

    head = parse_request_head(memoryview(encoded + body), lambda *_: flexible)

    assert head == (key, version, correlation, client, len(encoded))


def test_tagged_fields_of_a_header_are_skipped() -> None:
    frame = bytes.fromhex("0012 0003 00000007 0002 6869 02 00 01 ff 05 00") + b"body"

    assert parse_request_head(frame, lambda *_: True) == (18, 3, 7, "hi", len(frame) - 4)


@pytest.mark.parametrize(
    "frame",
    [
        "",
        "0012",
        "0012 0003 00000007 00",
        "0012 0003 00000007 0003 6869",
        "0012 0003 00000007 fffe 00",
        "0012 0003 00000007 0002 fffe 00",
        "0012 0003 00000007 ffff",
        "0012 0003 00000007 ffff 01",
        "0012 0003 00000007 ffff 01 00 05",
    ],
)
def test_a_frame_without_a_whole_header_is_refused(frame: str) -> None:
    with pytest.raises(DecodeError, match="the request header"):
        parse_request_head(bytes.fromhex(frame), lambda *_: True)


def test_who_knows_the_keys_is_asked_for_key_and_version() -> None:
    asked = []

    def is_flexible(key: int, version: int) -> bool:
        asked.append((key, version))
        return False

    parse_request_head(bytes.fromhex("0003 0007 00000001 ffff"), is_flexible)

    assert asked == [(3, 7)]


def test_a_response_header_is_its_correlation_id() -> None:
    assert to_bytes(ResponseHeader(5), 0).hex() == "00000005"
    assert to_bytes(ResponseHeader(5), 1).hex() == "0000000500"
