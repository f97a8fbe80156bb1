"""A server's side of the wire: the head of a request, and the segments of an answer.

An answer is a sequence of segments: bytes, and ranges of files that only the socket makes real.
Whatever is bytes is joined as long as that is cheaper than another system call. Source: Kafka's
request headers 1 and 2 (KIP-482), response headers 0 and 1.
"""

import struct
from collections.abc import Sequence
from typing import Any, Final

from trio_kafka.errors import ProtocolError
from trio_kafka.protocol.primitives import MOST_TAGS
from trio_kafka.wire.frame import Frame

# Key and version as one number: it is what routes are looked up by.
HEAD: Final = struct.Struct(">Iih").unpack_from
_PLAIN: Final = struct.Struct(">ii").pack
_FLEXIBLE: Final = struct.Struct(">iix").pack
JOINED: Final = 256 << 10  # larger neighbours are handed to the socket one by one

_VIEWS: Final = (memoryview, bytearray)  # made once: `a | b` is made anew each time
Segments = Sequence[Any]  # bytes-like, or anything with len() that the socket knows how to send


def raw_client_id(frame: Frame, length: int) -> bytes | None:
    """The client id as sent; None where it is null. Raises ProtocolError if the frame is
    shorter.
    """
    if length < 0:
        return None
    if 10 + length > len(frame):
        raise ProtocolError(f"client id of {length} bytes in a frame of {len(frame)}")
    return bytes(frame[10 : 10 + length])


def body_position(frame: Frame, length: int, *, flexible: bool) -> int:
    """Where the body begins, behind a client id of `length` bytes (-1: null) and maybe tagged
    fields.

    Raises ProtocolError if the head is longer than the frame.
    """
    position = 10 + length if length > 0 else 10
    if not flexible:
        return position
    if position < len(frame) and not frame[position]:
        return position + 1  # nearly always: no tagged fields
    count, position = _unsigned(frame, position)
    if count > MOST_TAGS:
        raise ProtocolError(f"{count} tagged fields of the head: want at most {MOST_TAGS}")
    for _ in range(count):
        _, position = _unsigned(frame, position)
        size, position = _unsigned(frame, position)
        position += size
    if position > len(frame):
        raise ProtocolError(f"tagged fields of the head end at {position} of {len(frame)}")
    return position


def _unsigned(frame: Frame, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 35, 7):
        if position >= len(frame):
            raise ProtocolError("the head ends within a varint")
        byte = frame[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise ProtocolError("a varint of the head is longer than 5 bytes")


def small_answer(correlation: int, body: bytes, *, flexible: bool) -> bytes:
    """Length, response header and a body that is bytes already, as one bytes object."""
    if flexible:
        return _FLEXIBLE(5 + len(body), correlation) + body
    return _PLAIN(4 + len(body), correlation) + body


def answer(correlation: int, parts: Segments, *, flexible: bool) -> Segments:
    """Length, response header and body as segments; neighbours that are bytes are joined.

    parts: the body. Views in it must not be of the request's frame, which is used again before the
        answer is gone.
    """
    size = sum(map(len, parts))
    head = _FLEXIBLE(5 + size, correlation) if flexible else _PLAIN(4 + size, correlation)
    last = parts[-1] if parts else b""
    copied = type(last) is bytes or isinstance(last, _VIEWS)
    try:
        if copied:
            if size < JOINED:
                return (b"".join((head, *parts)),)
        elif size - len(last) < JOINED:  # one range of a file, behind the rest
            return b"".join((head, *parts[:-1])), last
    except TypeError:  # there are more of them
        pass
    return joined((head, *parts))


def joined(parts: Segments) -> list[Any]:
    """What lies between ranges of files becomes one, as long as that is not large."""
    out: list[Any] = []
    run: list[Any] = []
    length = 0
    for part in parts:
        if type(part) is bytes or isinstance(part, _VIEWS):
            length += len(part)
            if length <= JOINED:
                run.append(part)
                continue
            if run:
                out.append(_one(run))
            run, length = [part], len(part)
        else:
            if run:
                out.append(_one(run))
            out.append(part)
            run, length = [], 0
    if run:
        out.append(_one(run))
    return out


def _one(run: list[Any]) -> Any:
    """These as one; bytes that stand alone are not copied."""
    return run[0] if len(run) == 1 and type(run[0]) is bytes else b"".join(run)
