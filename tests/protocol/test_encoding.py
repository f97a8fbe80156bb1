from collections.abc import Sized
from typing import Any

import pytest

from trio_kafka.protocol.compiler import (
    decoder,
    encoder,
    encoder_in_steps,
    source_of,
    to_bytes,
)
from trio_kafka.protocol.errors import EncodeError
from trio_kafka.protocol.schema import (
    array,
    bytes_,
    data,
    int8,
    int16,
    int32,
    records,
    string,
    struct,
    struct_,
    uuid,
)


@struct
class Row:
    index: int = int32()
    replicas: list[int] = array(int32)
    error_code: int = int16()
    isr: list[int] = array(int16)


@struct
class Epoch:
    epoch: int = int32(default=-1)
    end_offset: int = int32(default=-1)


@data(versions="0-2", flexible="1+")
class Message:
    topic_id: bytes = uuid()
    name: str = string(cached=True)
    note: str | None = string("1+", nullable="1+", default=None)
    rows: list[Row] = array(Row)
    content: bytes | None = bytes_(nullable="1+")
    batches: Sized | None = records(nullable="0+")
    epoch: Epoch = struct_(Epoch, "1+", tag=0)
    late: int = int8("2+", default=7)
    skipped: int = int8("2+", default=7, ignorable=True)
    maybe: Epoch | None = struct_(Epoch, "2+", nullable="2+", tag=3, default=None)
    names: list[str] = array(string, "2+", tag=1)


def tagged(message: Any, tags: dict[int, bytes]) -> Any:
    message.unknown_tags = tags
    return message


def test_records_are_written_as_their_own_segment_without_a_copy() -> None:
    batches = memoryview(b"batch")
    segments: list[Any] = []

    encoder(Message, 1)(Message(name="t", batches=batches), segments.append)

    assert any(segment is batches for segment in segments)
    assert b"".join(segments) == bytes(16) + b"\x02t" + b"\0" + b"\x01" + b"\x01" + b"\x06batch\0"


def test_any_object_with_a_length_can_be_written_as_records() -> None:
    class Range:
        def __len__(self) -> int:
            return 1000

    batches, segments = Range(), list[Any]()

    encoder(Message, 0)(Message(batches=batches), segments.append)

    assert segments[-1] is batches
    assert segments[-2].endswith((1000).to_bytes(4, "big"))


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("length", [0, 1, 125, 126, 127, 128, 16382, 16383, 20_000])
def test_rows_with_arrays_of_any_length_survive_a_round_trip(version: int, length: int) -> None:
    message = Message(rows=[Row(1, [7] * length, 2, [3]), Row(4, [5], 6, [-1] * length)])

    encoded = to_bytes(message, version)

    assert decoder(Message, version)(encoded) == (message, len(encoded))


def test_a_row_and_adjacent_fields_with_the_next_length_are_packed_in_one_call() -> None:
    source = source_of(encoder(Message, 1))

    assert "rows" in source
    assert "join_tags(i" in source
    assert source.count("write(pack_16s") == 1


def test_known_and_unknown_tags_are_written_in_order_of_their_numbers() -> None:
    row = tagged(Row(1, [2], 3, []), {4: b"row"})
    message = tagged(Message(rows=[row], epoch=Epoch(5, 6)), {9: b"nine", 2: b"two"})

    encoded = to_bytes(message, 1)

    assert decoder(Message, 1)(encoded) == (message, len(encoded))
    assert encoded.endswith(
        bytes.fromhex("03 00 09 00000005 00000006 00 02 03") + b"two" + b"\x09\x04nine"
    )


@data(versions="0-1", flexible="0+")
class Stamped:
    """A struct with one tagged field, of a fixed size."""

    offset: int = int32()
    topic_id: bytes = uuid("0+", tag=3, tagged="0+")


def test_a_single_tagged_field_of_fixed_size_is_packed_with_adjacent_fields() -> None:
    sample = b"\x03\x10" + b"i" * 16
    assert to_bytes(Stamped(5), 0) == b"\0\0\0\5\0"
    assert to_bytes(Stamped(5, b"i" * 16), 0) == b"\0\0\0\5\1" + sample
    assert "join_tags" in source_of(encoder(Stamped, 0))
    beside = tagged(Stamped(5, b"i" * 16), {1: b"a", 4: b"b"})
    assert to_bytes(beside, 0) == b"\0\0\0\5\3\1\1a" + sample + b"\4\1b"
    assert to_bytes(tagged(Stamped(5), {4: b"b"}), 0) == b"\0\0\0\5\1\4\1b"
    with pytest.raises(EncodeError, match="topic_id: a uuid does not have 16 bytes"):
        to_bytes(Stamped(5, b"i" * 15), 0)


@data(versions="0", flexible="0+")
class Counted:
    """A struct with one tagged field, an array of numbers."""

    offset: int = int32()
    epochs: list[int] | None = array(int32, nullable="0+", tag=3)


def test_a_single_tagged_array_of_numbers_is_written_at_short_and_long_lengths() -> None:
    def numbers(count: int) -> bytes:
        return b"".join(number.to_bytes(4, "big") for number in range(count))

    assert to_bytes(Counted(5, []), 0) == b"\0\0\0\5\0"
    assert to_bytes(Counted(5, [0, 1]), 0) == b"\0\0\0\5\1\3\x09\3" + numbers(2)
    assert to_bytes(Counted(5, [*range(31)]), 0) == b"\0\0\0\5\1\3\x7d\x20" + numbers(31)
    long = to_bytes(Counted(5, [*range(32)]), 0)
    assert long == b"\0\0\0\5\1\3\x81\1\x21" + numbers(32)
    assert to_bytes(Counted(5, None), 0) == b"\0\0\0\5\1\3\1\0"
    beside = tagged(Counted(5, [0]), {1: b"a"})
    assert to_bytes(beside, 0) == b"\0\0\0\5\2\1\1a\3\5\2" + numbers(1)


def test_a_tagged_field_with_its_default_value_is_not_written() -> None:
    assert to_bytes(Message(), 2).endswith(b"\x07\x07\0")
    assert to_bytes(Message(names=["a"]), 2).endswith(bytes.fromhex("01 01 03 02 02 61"))
    null = bytes.fromhex("01 03 0a 01 ffffffff ffffffff 00")
    assert to_bytes(Message(maybe=Epoch()), 2).endswith(null)
    assert to_bytes(Message(epoch=tagged(Epoch(), {1: b""})), 1).endswith(
        bytes.fromhex("01 00 0b ffffffff ffffffff 01 01 00")
    )


def test_an_unknown_tag_with_the_number_of_a_field_is_refused() -> None:
    with pytest.raises(EncodeError, match="tag 0"):
        to_bytes(tagged(Message(), {0: b"x"}), 1)
    assert to_bytes(tagged(Message(), {3: b"x"}), 1)


def test_unknown_tags_are_refused_in_a_version_without_tagged_fields() -> None:
    with pytest.raises(EncodeError, match="no tagged fields"):
        to_bytes(tagged(Message(), {5: b"x"}), 0)
    with pytest.raises(EncodeError, match="no tagged fields"):
        to_bytes(Message(rows=[tagged(Row(), {5: b"x"})]), 0)


def test_only_ignorable_fields_that_the_version_lacks_are_left_out() -> None:
    assert to_bytes(Message(skipped=1), 1) == to_bytes(Message(), 1)
    with pytest.raises(EncodeError, match="Message version 1, late: the version has no such field"):
        to_bytes(Message(late=1), 1)
    with pytest.raises(EncodeError, match="Message version 0, epoch: the version has no such"):
        to_bytes(Message(epoch=Epoch(epoch=1)), 0)
    with pytest.raises(EncodeError, match="Message version 1, names"):
        to_bytes(Message(names=["x"]), 1)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"topic_id": b"x" * 15}, "topic_id: a uuid does not have 16 bytes"),
        ({"topic_id": None}, "topic_id"),
        ({"name": None}, "name"),
        ({"name": "\ud800"}, "name: .*surrogates"),
        ({"name": "x" * 32768}, "name: a string of 32768 bytes"),
        ({"note": "x" * 32768}, "note: a string of 32768 bytes"),
        ({"note": b"bytes"}, "note"),
        ({"rows": None}, "rows"),
        ({"rows": [None]}, "rows"),
        ({"rows": [Row(1 << 31)]}, "rows \\(one of index, replicas, error_code, isr"),
        ({"rows": [Row(isr=[1 << 15])]}, "rows \\(one of"),
        ({"rows": [Row(replicas=None)]}, "rows.replicas"),  # type: ignore[arg-type]
        ({"epoch": None}, "the message \\(one of epoch\\)"),
        ({"epoch": Epoch("1")}, "epoch.epoch"),  # type: ignore[arg-type]
        ({"batches": 5}, "batches"),
    ],
)
def test_an_encode_error_names_the_message_version_and_field(
    change: dict[str, Any], place: str
) -> None:
    message = Message()
    for name, value in change.items():
        setattr(message, name, value)

    with pytest.raises(EncodeError, match=f"^Message version 1, {place}"):
        to_bytes(message, 1)


def test_null_is_refused_in_versions_where_the_field_is_not_nullable() -> None:
    assert to_bytes(Message(content=None), 1)
    with pytest.raises(EncodeError, match="content"):
        to_bytes(Message(content=None), 0)


def test_strings_of_any_length_up_to_the_limit_survive_a_round_trip() -> None:
    for size in (0, 126, 127, 128, 300, 16383, 32767):
        message = Message(name="n" * size, note="x" * size)
        encoded = to_bytes(message, 1)
        assert decoder(Message, 1)(encoded) == (message, len(encoded))


def test_a_row_between_other_fields_is_written_in_field_order() -> None:
    @data(versions="0-1", flexible="1+")
    class Around:
        before: int = int32()
        row: Row = struct_(Row)
        after: int = int8()

    message = Around(1, Row(2, [3], 4, [5]), 6)

    for version in (0, 1):
        encoded = to_bytes(message, version)
        assert encoded.startswith(bytes.fromhex("00000001 00000002"))
        assert decoder(Around, version)(encoded) == (message, len(encoded))


@data(versions="0-1", flexible="1+")
class Named:
    number: int = int16()
    name: str = string()


@pytest.mark.parametrize(("version", "sent"), [(0, "0007 0002 6869"), (1, "0007 03 6869 00")])
def test_a_string_is_written_with_its_length_after_the_preceding_field(
    version: int, sent: str
) -> None:
    assert to_bytes(Named(7, "hi"), version) == bytes.fromhex(sent)


@data(versions="0-1", flexible="1+")
class OfNumbers:
    numbers: list[int] | None = array(int32, nullable="0+")
    ids: list[bytes] = array(uuid)


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("size", [None, 0, 1, 64, 65, 1000])
def test_arrays_encoded_in_steps_give_the_same_bytes(version: int, size: int | None) -> None:
    numbers = None if size is None else list(range(size))
    message = OfNumbers(numbers=numbers, ids=[bytes(16)] * (size or 0))
    pieces: list[bytes] = []
    steps = sum(1 for _ in encoder_in_steps(OfNumbers, version)(message, pieces.append))

    assert b"".join(pieces) == to_bytes(message, version)
    assert steps == 2 * (max((size or 0) - 1, 0) // 64)


@pytest.mark.parametrize("version", [0, 1])
def test_rows_that_end_with_a_number_after_an_array_survive_a_round_trip(version: int) -> None:
    @struct
    class Ended:
        items: list[int] = array(int32)
        last: int = int32()

    @data(versions="0-1", flexible="1+")
    class Around:
        rows: list[Ended] = array(Ended)

    message = Around([Ended([1, 2], 3), Ended([], 4), Ended([5] * 200, 6)])

    encoded = to_bytes(message, version)

    assert decoder(Around, version)(encoded) == (message, len(encoded))
