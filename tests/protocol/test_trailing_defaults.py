"""Decoding at once where the last fields have defaults: the same result as field by field."""

import pytest

from trio_kafka.protocol.compiler import decoder, decoder_in_steps, source_of, to_bytes
from trio_kafka.protocol.schema import array, bytes_, data, int8, int32, string, struct, struct_
from trio_kafka.scheduling.chunked_work import whole


@struct
class Part:
    number: int = int32()


@data(versions="0-2", flexible="1+")
class Living:
    """Message whose fields before the first that may be null are always read."""

    name: str = string()
    before: int = int32(default=-1)
    text: str | None = string(nullable="0+", default=None)
    late: int = int8("2+", default=-1)
    content: bytes | None = bytes_(nullable="0+", default=None)
    tagged: int = int32("1+", tag=0)
    numbers: list[int] | None = array(int32, nullable="0+", default=None)


@data(versions="0", flexible="0+")
class Few:
    text: str | None = string(nullable="0+", default=None)
    other: str | None = string(nullable="0+", default=None)


@data(versions="0", flexible="0+")
class Struct:
    texts: list[str] | None = array(string, nullable="0+", default=None)
    text: str | None = string(nullable="0+", default=None)
    other: str | None = string(nullable="0+", default=None)
    part: Part | None = struct_(Part, nullable="0+", default=None)


@data(versions="0-1", flexible="0+")
class Required:
    """Null by default is not enough where a version does not know null."""

    text: str | None = string(nullable="1+", default=None)
    other: str | None = string(nullable="0+", default=None)
    another: str | None = string(nullable="0+", default=None)


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize(
    "message",
    [
        Living("x"),
        Living("x", 5),
        Living("x", text=""),
        Living("x", late=3),
        Living("x", content=b"\0"),
        Living("x", numbers=[]),
        Living("x", text="", content=b"", numbers=[]),
        Living("x", tagged=7),
    ],
)
def test_messages_with_trailing_defaults_survive_a_round_trip(
    message: Living, version: int
) -> None:
    if version < 2:
        message.late = -1
    if version < 1:
        message.tagged = 0
    encoded = to_bytes(message, version)

    for buffer in (encoded, bytearray(encoded), memoryview(encoded)):
        assert decoder(Living, version)(buffer) == (message, len(encoded))
    assert whole(decoder_in_steps(Living, version)(encoded)) == (message, len(encoded))
    assert decoder(Living, version)(encoded + b"\0\0") == (message, len(encoded))
    assert decoder(Living, version)(b"ab" + encoded, 2) == (message, len(encoded) + 2)


@pytest.mark.parametrize(
    ("version", "rest"),
    [
        (0, b"\xff\xff" + b"\xff" * 8),
        (1, bytes(4)),
        (2, b"\0\xff\0\0\0"),
    ],
)
def test_trailing_defaults_are_decoded_by_one_comparison(version: int, rest: bytes) -> None:
    decode = decoder(Living, version)

    assert f"end - pos == {len(rest)} and" in source_of(decode)
    assert to_bytes(Living("x"), version).endswith(rest)


@pytest.mark.parametrize(("cls", "version"), [(Few, 0), (Struct, 0), (Required, 0)])
def test_messages_with_few_or_required_fields_are_decoded_without_the_comparison(
    cls: type, version: int
) -> None:
    assert "end - pos ==" not in source_of(decoder(cls, version))
    assert "end - pos ==" in source_of(decoder(Required, 1))
