"""Runtime functions of generated codecs: long varints, tags, arrays of numbers, cached names.

Source: the protocol guide's primitive types; KIP-482 for unsigned varints (at most 5 bytes) and
tagged fields.
"""

from collections.abc import Callable, Iterable, Mapping
from struct import Struct
from typing import Final

Buffer = bytes | bytearray | memoryview

LONGEST_STRING: Final = 32767
MOST_TAGS: Final = 128  # tagged fields in one struct; Kafka 4.4 has at most 5
BYTES: Final = tuple(bytes((byte,)) for byte in range(128))  # one-byte varints
_SMALL: Final = 64  # longest array of numbers whose Struct is cached
_ROWS: Final = 512  # row shapes whose Struct is cached
_NAMES: Final = 4096  # names that are cached in encoded form
_LONGEST_NAME: Final = 255


class Malformed(ValueError):  # noqa: N818 - a reason that the codec wraps, never caught by users
    """Reason for a failure inside generated code; the codec adds message and field."""


class _NoTags(dict[int, bytes]):
    """Immutable empty mapping, shared by all messages without unknown tags; copies to itself."""

    __slots__ = ()

    def __setitem__(self, tag: int, value: bytes) -> None:
        raise TypeError("NO_TAGS is shared: give the message a dict of its own")

    def __reduce__(self) -> str:
        return "NO_TAGS"


NO_TAGS: Final[Mapping[int, bytes]] = _NoTags()


def uvarint(number: int) -> bytes:
    """Encode a number from 0 to 2**32 - 1 as an unsigned varint."""
    if not 0 <= number < 1 << 32:
        raise Malformed(f"{number} is not an unsigned 32-bit number")
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def string_length(size: int) -> bytes:
    """Encode the compact length of a string; `size` is one more than the length."""
    if size > LONGEST_STRING + 1:
        raise Malformed(f"a string of {size - 1} bytes: the limit is {LONGEST_STRING}")
    return uvarint(size)


def read_uvarint(buffer: Buffer, position: int) -> tuple[int, int]:
    """Return the number at `position` and the position after it. IndexError if the buffer ends."""
    first = buffer[position]
    if first < 128:
        return first, position + 1
    return read_long_uvarint(buffer, position + 1, first)


def read_long_uvarint(buffer: Buffer, position: int, first: int) -> tuple[int, int]:
    """Read the rest of a varint whose first byte precedes `position`."""
    number = first & 127
    for shift in (7, 14, 21, 28):
        byte = buffer[position]
        position += 1
        number |= (byte & 127) << shift
        if byte < 128:
            if number >> 32:
                break
            return number, position
    raise Malformed("a varint has more than 32 bits")


def read_string_length(buffer: Buffer, position: int, first: int) -> tuple[int, int]:
    """Read the rest of a string's compact length, as `read_long_uvarint`."""
    size, position = read_long_uvarint(buffer, position, first)
    if size > LONGEST_STRING + 1:
        raise Malformed(f"a string of {size - 1} bytes: the limit is {LONGEST_STRING}")
    return size, position


def read_tag_count(buffer: Buffer, position: int, first: int) -> tuple[int, int]:
    """Read the rest of the varint that counts tagged fields, as `read_long_uvarint`.

    Raises Malformed for more than MOST_TAGS: they are read at once, and no client sends so many.
    """
    count, position = read_long_uvarint(buffer, position, first)
    if count > MOST_TAGS:
        raise Malformed(f"{count} tagged fields: want at most {MOST_TAGS}")
    return count, position


def read_tags(buffer: Buffer, position: int, count: int) -> tuple[dict[int, bytes], int]:
    """Read the tagged fields of a struct that declares none; return them and the position after.

    count: first byte of the count's varint; it precedes `position`.
    """
    if count > 127:
        count, position = read_tag_count(buffer, position, count)
    tags = {}
    for _ in range(count):
        tag, position = read_uvarint(buffer, position)
        size, position = read_uvarint(buffer, position)
        end = position + size
        if end > len(buffer):
            raise Malformed(f"tag {tag} of {size} bytes goes beyond the end")
        tags[tag] = bytes(buffer[position:end])
        position = end
    return tags, position


def join_tags(tags: Mapping[int, bytes]) -> bytes:
    """Encode the tagged fields of one struct in tag order, with their count."""
    parts = [uvarint(len(tags))]
    for tag in sorted(tags):
        parts += uvarint(tag), uvarint(len(tags[tag])), tags[tag]
    return b"".join(parts)


def refuse_known(tags: Mapping[int, bytes], declared: frozenset[int]) -> None:
    """Raise Malformed if an unknown tag has the number of a declared one."""
    if not declared.isdisjoint(tags):
        raise Malformed(
            f"unknown_tags has tag {min(declared & tags.keys())}, which is a field here"
        )


def join_uuids(values: Iterable[bytes]) -> bytes:
    """Join the items of an array of uuids."""
    for value in values:
        if len(value) != 16:
            raise Malformed(f"a uuid of {len(value)} bytes")
    return b"".join(values)


class Unpackers(dict[int, Callable[[Buffer, int], tuple[object, ...]]]):
    """Cache from the length of an array to a function that unpacks that many numbers."""

    def __init__(self, code: str) -> None:
        super().__init__()
        self.code = code

    def __missing__(self, count: int) -> Callable[[Buffer, int], tuple[object, ...]]:
        unpack = Struct(f">{count}{self.code}").unpack_from
        if count <= _SMALL:
            self[count] = unpack
        return unpack


class Packers(dict[int, Callable[..., bytes]]):
    """Cache from the length of an array to a function that packs that many numbers."""

    def __init__(self, code: str) -> None:
        super().__init__()
        self.code = code

    def __missing__(self, count: int) -> Callable[..., bytes]:
        pack = Struct(f">{count}{self.code}").pack
        if count <= _SMALL:
            self[count] = pack
        return pack


class Rows(dict[object, Callable[..., bytes]]):
    """Cache from the lengths of a struct's arrays to a function that packs the whole struct.

    form: the struct format with a %d for each length.
    """

    def __init__(self, form: str) -> None:
        super().__init__()
        self.form = form

    def __missing__(self, lengths: object) -> Callable[..., bytes]:
        pack = Struct(self.form % lengths).pack
        if len(self) >= _ROWS:
            self.clear()
        self[lengths] = pack
        return pack


class Names(dict[str, bytes]):
    """Cache of frequent strings, encoded with an int16 or a compact length."""

    def __init__(self, *, compact: bool) -> None:
        super().__init__()
        self.compact = compact

    def __missing__(self, text: str) -> bytes:
        name = text.encode()
        size = len(name)
        if size > LONGEST_STRING:
            raise Malformed(f"a string of {size} bytes: the limit is {LONGEST_STRING}")
        encoded = (uvarint(size + 1) if self.compact else size.to_bytes(2, "big")) + name
        if size <= _LONGEST_NAME:
            if len(self) >= _NAMES:
                self.clear()
            self[text] = encoded
        return encoded


COMPACT_NAMES: Final = Names(compact=True)
PLAIN_NAMES: Final = Names(compact=False)
UNPACKERS: Final = {code: Unpackers(code) for code in "bhHiIqd?"}
PACKERS: Final = {code: Packers(code) for code in "bhHiIqd?"}
