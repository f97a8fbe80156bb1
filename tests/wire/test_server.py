"""Heads of requests and segments of answers."""

import struct
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.errors import ProtocolError
from trio_kafka.model import code_of, key_of, version_of
from trio_kafka.protocol.compiler import to_bytes
from trio_kafka.protocol.headers import RequestHeader
from trio_kafka.protocol.primitives import MOST_TAGS, Buffer
from trio_kafka.wire.server import (
    HEAD,
    JOINED,
    answer,
    body_position,
    raw_client_id,
    small_answer,
)


class Range:
    """Stand-in for a range of a file: has a length, but no bytes."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size


def head(client: bytes | None, rest: bytes = b"") -> memoryview:
    size = -1 if client is None else len(client)
    return memoryview(struct.pack(">hhih", 3, 12, 77, size) + (client or b"") + rest)


@given(st.integers(-32768, 32767), st.integers(-32768, 32767))
def test_api_key_and_version_are_combined_in_one_code_and_separated_again(
    key: int, version: int
) -> None:
    code, _, _ = HEAD(struct.pack(">hhih", key, version, 0, 0))

    assert code == code_of(key, version)
    assert (key_of(code), version_of(code)) == (key, version)


@given(
    st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=200),
    st.dictionaries(st.integers(0, 2**32 - 1), st.binary(max_size=200), max_size=3),
    st.booleans(),
    st.binary(max_size=4),
)
def test_the_head_of_a_request_is_decoded_as_its_header_was_encoded(
    client: str | None, tags: dict[int, bytes], flexible: bool, body: bytes
) -> None:
    header = RequestHeader(3, 12, 77, client, unknown_tags=tags if flexible else {})
    encoded = to_bytes(header, 2 if flexible else 1)
    frame = memoryview(encoded + body)

    code, correlation, size = HEAD(frame)

    assert (key_of(code), version_of(code), correlation) == (3, 12, 77)
    assert raw_client_id(frame, size) == (None if client is None else client.encode())
    assert body_position(frame, size, flexible=flexible) == len(encoded)


def test_a_client_id_may_be_text_empty_or_null() -> None:
    assert raw_client_id(head(b"me"), 2) == b"me"
    assert raw_client_id(head(b""), 0) == b""
    assert raw_client_id(head(None), -1) is None
    with pytest.raises(ProtocolError, match="client id of 7 bytes"):
        raw_client_id(head(b"me"), 7)


def test_the_body_begins_after_client_id_and_tagged_fields() -> None:
    assert body_position(head(b"me", b"body"), 2, flexible=False) == 12
    assert body_position(head(None, b"body"), -1, flexible=False) == 10
    assert body_position(head(b"me", b"\0body"), 2, flexible=True) == 13
    tagged = b"\x02\x05\x03abc\x81\x01\x00"
    assert body_position(head(b"me", tagged + b"body"), 2, flexible=True) == 12 + len(tagged)


@pytest.mark.parametrize("rest", [b"", b"\x01", b"\x01\x00\x05ab", b"\xff\xff\xff\xff\xff\xff\x01"])
def test_a_truncated_head_is_an_error(rest: bytes) -> None:
    with pytest.raises(ProtocolError):
        body_position(head(b"me", rest), 2, flexible=True)


def test_a_small_answer_is_encoded_with_length_correlation_id_and_header() -> None:
    assert small_answer(7, b"body", flexible=False) == struct.pack(">ii", 8, 7) + b"body"
    assert small_answer(7, b"body", flexible=True) == struct.pack(">iib", 9, 7, 0) + b"body"


@given(st.lists(st.one_of(st.binary(max_size=50), st.integers(0, 99)), max_size=9), st.booleans())
def test_the_length_covers_all_segments_and_adjacent_bytes_are_joined(
    shape: list[bytes | int], flexible: bool
) -> None:
    parts: list[Buffer | Range] = [
        Range(piece) if isinstance(piece, int) else piece for piece in shape
    ]

    segments = answer(9, parts, flexible=flexible)

    size = sum(map(len, segments)) - 4
    assert segments[0][:8] == struct.pack(">ii", size, 9)
    assert [segment for segment in segments if isinstance(segment, Range)] == [
        part for part in parts if isinstance(part, Range)
    ]
    bytes_only = b"".join(segment for segment in segments if isinstance(segment, bytes))
    body = b"".join(part for part in parts if not isinstance(part, Range))
    assert bytes_only[9 if flexible else 8 :] == body
    for piece, other in pairwise(segments):
        assert isinstance(piece, Range) or isinstance(other, Range)


def test_large_adjacent_parts_are_not_copied() -> None:
    large = bytes(JOINED)

    segments = answer(1, [b"a", large, b"b"], flexible=False)

    assert any(segment is large for segment in segments)


def test_a_head_with_more_tagged_fields_than_allowed_is_refused() -> None:
    tags = b"".join(bytes([tag % 100 + 1, 0]) for tag in range(MOST_TAGS + 1))
    allowed = b"\x80\x01" + tags[:-2]

    assert body_position(head(b"me", allowed), 2, flexible=True) == 12 + len(allowed)
    with pytest.raises(ProtocolError, match="129 tagged fields in the header"):
        body_position(head(b"me", b"\x81\x01" + tags), 2, flexible=True)
