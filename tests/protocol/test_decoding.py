import tracemalloc

import attrs
import pytest

from trio_kafka.protocol.compiler import (
    decoder,
    decoder_in_steps,
    decoder_of_few,
    source_of,
    to_bytes,
)
from trio_kafka.protocol.decoding import EMPTY_ELEMENTS, FEW
from trio_kafka.protocol.errors import DecodeError, ManyItemsError
from trio_kafka.protocol.primitives import MOST_TAGS, NO_TAGS
from trio_kafka.protocol.schema import (
    array,
    boolean,
    bytes_,
    data,
    float64,
    int8,
    int16,
    int32,
    int64,
    records,
    string,
    struct,
    struct_,
    uint16,
    uint32,
    unknown_tags,
    uuid,
)


@struct
class Empty:
    late: int = int8("9+")


@struct
class Point:
    x: int = int32()
    label: str | None = string(nullable="0+")


@data(versions="0-1", flexible="1+")
class Everything:
    a: int = int8()
    b: int = int16()
    c: int = uint16()
    d: int = int32()
    e: int = uint32()
    f: int = int64()
    g: float = float64()
    h: bool = boolean()
    i: bytes = uuid()
    j: str = string()
    k: bytes = bytes_()
    l: memoryview | None = records(nullable="0+")  # noqa: E741 - one letter as the others
    m: list[int] = array(int16)
    n: list[bytes] = array(uuid)
    o: list[str] = array(string)
    p: list[Point] | None = array(Point, nullable="0+")
    q: Point = struct_(Point)
    r: Point | None = struct_(Point, nullable="0+")


FIXED = "01 0002 ffff 00000004 ffffffff 0000000000000006 4000000000000000 05" + "aa" * 16
PLAIN = bytes.fromhex(
    FIXED + "0002 6869 00000001 07 00000002 0809 00000002 0001 fffe 00000001" + "bb" * 16
) + bytes.fromhex("00000001 0001 78 00000001 00000003 ffff 00000004 0000 ff")
COMPACT = bytes.fromhex(
    FIXED + "03 6869 02 07 03 0809 03 0001 fffe 02" + "bb" * 16
) + bytes.fromhex("02 02 78 02 00000003 00 00 00000004 01 00 01 00000005 02 79 00 00")
WHOLE = Everything(
    1,
    2,
    0xFFFF,
    4,
    0xFFFFFFFF,
    6,
    2.0,
    True,
    b"\xaa" * 16,
    "hi",
    b"\x07",
    memoryview(b"\x08\x09"),
    [1, -2],
    [b"\xbb" * 16],
    ["x"],
    [Point(3, None)],
    Point(4, ""),
    None,
)


@data(versions="0-1", flexible="0+")
class Tagged:
    number: int = int32()
    name: str | None = string("0+", nullable="0+", tag=0, default=None)
    points: list[Point] = array(Point, "1+", tag=2)
    point: Point = struct_(Point, tag=5)


@data(versions="0")
class Lists:
    numbers: list[int] | None = array(int32, nullable="0+")
    points: list[Point] = array(Point)
    empty: list[Empty] = array(Empty)
    uuids: list[bytes] = array(uuid)


def test_every_kind_of_field_is_decoded_with_fixed_size_lengths() -> None:
    assert decoder(Everything, 0)(PLAIN) == (WHOLE, len(PLAIN))


def test_every_kind_of_field_is_decoded_with_compact_lengths() -> None:
    whole = attrs.evolve(WHOLE, r=Point(5, "y"))

    assert decoder(Everything, 1)(memoryview(COMPACT)) == (whole, len(COMPACT))


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_only_records_stay_a_view_of_the_buffer(kind: type) -> None:
    buffer = bytearray(PLAIN)
    message, _ = decoder(Everything, 0)(kind(buffer))

    assert isinstance(message.l, memoryview)
    assert type(message.i) is type(message.k) is type(message.n[0]) is bytes
    if kind is memoryview:
        buffer[:] = bytes(len(buffer))
        assert (message.j, message.k, message.i) == ("hi", b"\x07", b"\xaa" * 16)
        assert bytes(message.l) == b"\0\0"


def test_adjacent_fixed_size_fields_and_the_next_length_are_unpacked_in_one_call() -> None:
    source = source_of(decoder(Everything, 1))

    assert source.count("unpack_from_bhHiIqdo16sB(buf, pos)") == 1


def test_tagged_fields_are_decoded_and_unknown_tags_are_kept() -> None:
    encoded = bytes.fromhex("00000001 04 00 02 02 78 02 08 02 00000007 02 61 00 04 01 ee 09 00")

    message, end = decoder(Tagged, 1)(encoded)

    assert end == len(encoded)
    assert message == Tagged(1, "x", [Point(7, "a")], unknown_tags={4: b"\xee", 9: b""})  # type: ignore[call-arg]


def test_a_tag_of_a_later_version_is_an_unknown_tag_in_an_earlier_version() -> None:
    message, _ = decoder(Tagged, 0)(bytes.fromhex("00000001 01 02 02 0101"))

    assert message.points == []
    assert unknown_tags(message) == {2: b"\x01\x01"}
    assert unknown_tags(message.point) is NO_TAGS


@pytest.mark.parametrize("size", ["01", "03"])
def test_a_tagged_field_whose_size_does_not_match_is_refused(size: str) -> None:
    with pytest.raises(DecodeError, match=r"Tagged version 0, name: .*size"):
        decoder(Tagged, 0)(bytes.fromhex(f"00000001 01 00 {size} 02 78 00 00"))


@pytest.mark.parametrize(
    ("encoded", "place"),
    [
        (PLAIN[:20], "a or b or c or d or e or f or g or h or i or j"),
        (PLAIN[:40], "a or b or c"),
        (PLAIN[:49], "j: longer than the rest of the message"),
        (PLAIN[:50].replace(b"hi", b"\xff\xfe"), "j: .*utf-8"),
        (PLAIN.replace(b"\0\2hi", b"\xff\xffhi"), "j: null"),
        (PLAIN.replace(b"\0\2hi", b"\xff\xfehi"), "j: the length is negative"),
        (PLAIN.replace(b"\0\0\0\2\x08", b"\xff\xff\xff\xfe\x08"), "l: the length is negative"),
        (PLAIN.replace(b"\0\0\0\2\x08", b"\x7f\xff\xff\xff\x08"), "l: longer"),
        (PLAIN[:-5], "q.label|q.x"),
    ],
)
def test_a_decode_error_names_the_message_version_and_field(encoded: bytes, place: str) -> None:
    with pytest.raises(DecodeError, match=f"^Everything version 0, .*({place})"):
        decoder(Everything, 0)(memoryview(encoded))


@pytest.mark.parametrize(
    "encoded",
    [
        "7fffffff 00000000 00000000",
        "00000003 00000001 00000001",
        "00000000 7fffffff 00000000",
        "00000000 00000000 7fffffff",
        f"00000000 00000000 {EMPTY_ELEMENTS + 1:08x}",
        "00000000 00000000 00000000 00100000",
        "fffffffe 00000000 00000000",
        "00000000 ffffffff 00000000",
    ],
)
def test_an_impossible_item_count_is_refused_without_allocating_memory(encoded: str) -> None:
    decode = decoder(Lists, 0)
    tracemalloc.start()
    try:
        with pytest.raises(DecodeError):
            decode(bytes.fromhex(encoded))
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_empty_structs_are_decoded_up_to_a_maximum_count() -> None:
    encoded = bytes.fromhex(f"ffffffff 00000000 {EMPTY_ELEMENTS:08x} 00000000")

    message, end = decoder(Lists, 0)(encoded)

    assert (message.numbers, len(message.empty), end) == (None, EMPTY_ELEMENTS, 16)


@pytest.mark.parametrize("length", [0, 1, 126, 127, 128, 16382, 16383, 40_000])
def test_compact_arrays_are_decoded_with_lengths_of_one_to_three_bytes(length: int) -> None:
    @data(versions="0", flexible="0+")
    class Numbers:
        numbers: list[int] = array(int8)

    prefix, rest = [], length + 1
    while rest > 127:
        prefix.append(rest & 127 | 128)
        rest >>= 7
    encoded = bytes([*prefix, rest]) + b"\x05" * length + b"\0"

    assert decoder(Numbers, 0)(encoded) == (Numbers([5] * length), len(encoded))


def test_bytes_after_the_message_are_not_read() -> None:
    assert decoder(Everything, 0)(PLAIN + b"more")[1] == len(PLAIN)


@data(versions="0", flexible="0+")
class Lengths:
    text: str | None = string(nullable="0+")
    content: bytes | None = bytes_(nullable="0+")
    last: int = int8()


@pytest.mark.parametrize(
    ("text", "content", "read"),
    [
        pytest.param("00", "00", (None, None), id="null"),
        pytest.param("8000", "808000", (None, None), id="null in more bytes than it takes"),
        pytest.param("01", "01", ("", b""), id="empty"),
        pytest.param("8100", "818000", ("", b""), id="empty in more bytes than it takes"),
        pytest.param("03 6869", "02 07", ("hi", b"\x07"), id="short"),
        pytest.param("8380 00 6869", "8200 07", ("hi", b"\x07"), id="short with a long length"),
        pytest.param("7f" + "61" * 126, "7f" + "01" * 126, ("a" * 126, b"\1" * 126), id="126"),
        pytest.param("8001" + "61" * 127, "8001" + "01" * 127, ("a" * 127, b"\1" * 127), id="127"),
        pytest.param(
            "818001" + "61" * 16384,
            "818001" + "01" * 16384,
            ("a" * 16384, b"\1" * 16384),
            id="2^14",
        ),
    ],
)
def test_compact_lengths_of_any_number_of_bytes_are_decoded_and_truncations_refused(
    text: str, content: str, read: tuple[str | None, bytes | None]
) -> None:
    sent = bytes.fromhex(text + content + "05 00")

    assert decoder(Lengths, 0)(sent) == (Lengths(*read, 5), len(sent))
    for size in range(0, len(sent), len(sent) // 64 + 1):
        with pytest.raises(DecodeError):
            decoder(Lengths, 0)(sent[:size])


@struct
class Labelled:
    labels: list[str] = array(string)
    number: int = int8(tag=0, tagged="0+", default=0)


@data(versions="0", flexible="0+")
class Arrays:
    labelled: list[Labelled] = array(Labelled)
    numbers: list[int] | None = array(int32, nullable="0+")
    ids: list[bytes] = array(uuid)
    flags: list[bool] = array(boolean)


MANY_OF_EACH = Arrays(
    labelled=[Labelled(labels=["a"] * 40)] * 50,
    numbers=list(range(10_000)),
    ids=[number.to_bytes(16, "big") for number in range(3000)],
    flags=[True, False] * 2000,
)


def steps_of(message: Arrays) -> tuple[Arrays, int]:
    """The message decoded in steps, and how many there were."""
    steps, count = decoder_in_steps(Arrays, 0)(memoryview(to_bytes(message, 0)), 0), 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value[0], count
        count += 1


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 128, 129])
def test_arrays_decoded_in_steps_equal_the_original(size: int) -> None:
    message = Arrays(
        numbers=MANY_OF_EACH.numbers and MANY_OF_EACH.numbers[:size],
        ids=MANY_OF_EACH.ids[:size],
        flags=MANY_OF_EACH.flags[:size],
    )

    assert steps_of(message)[0] == message
    assert steps_of(Arrays(numbers=None))[0] == Arrays(numbers=None)


def test_decoding_in_steps_pauses_often_within_long_arrays() -> None:
    read, count = steps_of(MANY_OF_EACH)

    assert read == MANY_OF_EACH
    assert count >= 50 * 41 + 250


def test_the_number_of_known_and_unknown_tags_of_a_struct_is_bounded() -> None:
    tags = b"".join(b"\x00\x01\x05" for _ in range(MOST_TAGS))

    def sent(count: bytes, tags: bytes) -> bytes:
        return b"\x02" + b"\x01" + count + tags + b"\x00\x01\x01\x00"

    read, _ = decoder(Arrays, 0)(sent(b"\x80\x01", tags))
    assert read.labelled == [Labelled(number=5)]
    with pytest.raises(DecodeError, match="129 tagged fields"):
        decoder(Arrays, 0)(sent(b"\x81\x01", tags + b"\x00\x01\x05"))


@pytest.mark.parametrize(
    ("message", "many"),
    [
        pytest.param(Arrays(labelled=[Labelled()] * FEW, flags=[True] * 5000), False, id="few"),
        pytest.param(
            Arrays(labelled=[Labelled()] * (FEW + 1), flags=[True] * 5000), True, id="many"
        ),
        pytest.param(Arrays(labelled=[Labelled()] * 1000), False, id="many, small"),
        pytest.param(
            Arrays(labelled=[Labelled(labels=["a"] * (FEW + 1))], flags=[True] * 5000),
            True,
            id="many, inside",
        ),
    ],
)
def test_decoder_of_few_refuses_a_message_with_many_items(message: Arrays, many: bool) -> None:
    encoded = to_bytes(message, 0)
    decode = decoder_of_few(Arrays, 0)
    if many:
        with pytest.raises(ManyItemsError):
            decode(encoded)
    else:
        assert decode(encoded)[0] == message
    assert decoder(Arrays, 0)(encoded)[0] == message
