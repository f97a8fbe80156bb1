"""Server side of a connection: heads of requests, and segments of answers.

An answer is a sequence of segments: bytes, and ranges of files that are sent by the socket. Bytes
are joined where that is cheaper than another system call. Source: Kafka's request headers 1 and 2
(KIP-482), response headers 0 and 1.
"""

import struct
from collections.abc import Sequence, Sized
from typing import Any, Final

from trio_kafka.errors import ProtocolError
from trio_kafka.protocol.primitives import MOST_TAGS, Buffer, Malformed, read_uvarint
from trio_kafka.wire.frame import Frame

# Key and version are read as one number, by which routes are found.
HEAD: Final = struct.Struct(">Iih").unpack_from
_PLAIN: Final = struct.Struct(">ii").pack
_FLEXIBLE: Final = struct.Struct(">iix").pack
JOINED: Final = 256 << 10  # more bytes are passed to the socket as they are

_VIEWS: Final = (memoryview, bytearray)  # a tuple: `a | b` would be made for each call
Segments = Sequence[Any]  # bytes-like, or anything with len() that the socket knows how to send


def raw_client_id(frame: Frame, length: int) -> bytes | None:
    """Return the client id as sent; None: null. Raises ProtocolError if the frame is too short."""
    if length < 0:
        return None
    if 10 + length > len(frame):
        raise ProtocolError(
            f"client id of {length} bytes: want at most {len(frame) - 10}, as the frame is"
            f" {len(frame)} bytes"
        )
    return bytes(frame[10 : 10 + length])


def body_position(frame: Frame, length: int, *, flexible: bool) -> int:
    """Return the position of the body. length: of the client id; -1: null.

    Raises ProtocolError if the head is longer than the frame.
    """
    position = 10 + length if length > 0 else 10
    if not flexible:
        return position
    if position < len(frame) and not frame[position]:
        return position + 1  # nearly always: no tagged fields
    try:
        count, position = read_uvarint(frame, position)
        if count > MOST_TAGS:
            raise ProtocolError(f"{count} tagged fields in the header: want at most {MOST_TAGS}")
        for _ in range(count):
            _, position = read_uvarint(frame, position)
            size, position = read_uvarint(frame, position)
            position += size
    except IndexError:
        raise ProtocolError("header ends within a varint: want all of it") from None
    except Malformed as error:
        raise ProtocolError(f"header: {error}") from None
    if position > len(frame):
        raise ProtocolError(
            f"tagged fields of the header end at {position}: want at most {len(frame)}"
        )
    return position


def small_answer(correlation: int, body: bytes, *, flexible: bool) -> bytes:
    """Return length, response header and an encoded body as one bytes object."""
    if flexible:
        return _FLEXIBLE(5 + len(body), correlation) + body
    return _PLAIN(4 + len(body), correlation) + body


def answer(correlation: int, parts: Segments, *, flexible: bool) -> Segments:
    """Return length, response header and body as segments, with adjacent bytes joined.

    parts: the body. It must not contain views of the request's frame, whose buffer is reused before
        the answer is sent.
    """
    size = sum(map(len, parts))
    head = _FLEXIBLE(5 + size, correlation) if flexible else _PLAIN(4 + size, correlation)
    last = parts[-1] if parts else b""
    copied = type(last) is bytes or isinstance(last, _VIEWS)
    try:
        if copied:
            if size < JOINED:
                return (b"".join((head, *parts)),)
        elif size - len(last) < JOINED:  # one range of a file, after the rest
            return b"".join((head, *parts[:-1])), last
    except TypeError:  # there are more ranges
        pass
    return joined((head, *parts))


def joined(parts: Segments) -> list[Any]:
    """Join the bytes between ranges of files, up to JOINED bytes."""
    out: list[Sized] = []
    run: list[Buffer] = []
    length = 0
    for part in parts:
        if type(part) is bytes or isinstance(part, _VIEWS):
            length += len(part)
            if length <= JOINED:
                run.append(part)
                continue
            if run:
                out.append(_joined(run))
            run, length = [part], len(part)
        else:
            if run:
                out.append(_joined(run))
            out.append(part)
            run, length = [], 0
    if run:
        out.append(_joined(run))
    return out


def _joined(run: list[Buffer]) -> Buffer:
    """Join parts; a single bytes object is not copied."""
    return run[0] if len(run) == 1 and type(run[0]) is bytes else b"".join(run)
