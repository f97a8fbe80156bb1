"""The compiled leaf says what its Python twin says, or None. `make leaf` builds and installs it."""

import gc
import os
import random
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from sys import getrefcount
from typing import Final

import pytest
from attrs import evolve
from crc32c import crc32c

from tests.records.kit import twin
from trio_kafka.errors import KafkaError
from trio_kafka.records.batch import Record, decode_records, encode_batch, read_records
from trio_kafka.records.compression import Codec, TooLargeError
from trio_kafka.records.header import (
    CODEC_MASK,
    CRC_FROM,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    MAGIC,
    SMALLEST_LENGTH,
    UNCOVERED,
    BatchHeader,
    check_crc,
    iterate_headers,
    read_header,
)
from trio_kafka.records.leaf import (
    SWITCH,
    CheckRules,
    CheckState,
    EncodeState,
    Leaf,
    ScanState,
    leaf,
)
from trio_kafka.records.record_checks import BadRecordsError, is_sound, walk_records
from trio_kafka.records.validate import Limits
from trio_kafka.scheduling.chunked_work import whole

pytestmark = pytest.mark.leaf
ROOT: Final = Path(__file__).parents[2]
PLUGIN: Final = ROOT / "plugins" / "trio_kafka_leaf"
NOW: Final = 1_700_000_000_000
LIMITS: Final = Limits()
STAMPED: Final = Limits(log_append_time=True)


@pytest.fixture
def compiled() -> Leaf:
    functions = leaf()
    if functions is None:
        pytest.skip("needs the compiled leaf: `make leaf` (a C compiler), then run this again")
    return functions


def outcome(call: Callable[[], object]) -> object:
    """Return the result or the error in words."""
    try:
        return call()
    except BadRecordsError as error:
        return error.code, error.message, error.records
    except (
        AttributeError,
        KafkaError,
        ValueError,
        struct.error,
        TypeError,
        OverflowError,
    ) as error:
        return type(error), str(error)


def both(call: Callable[[], object]) -> tuple[object, object]:
    """Return the outcome with the leaf and with the twin."""
    with_leaf = outcome(call)
    with twin():
        return with_leaf, outcome(call)


def random_records(choose: random.Random) -> list[Record]:
    count = choose.choice([1, 1, 1, 2, 3, 20])
    sizes = [0, 1, 5, 63, 64, 127, 128, 300]

    def content() -> bytes | None:
        return None if choose.random() < 0.1 else choose.randbytes(choose.choice(sizes))

    return [
        Record(
            timestamp=NOW + choose.choice([0, number, -number, 10**7, -(10**12)]),
            key=content(),
            value=content(),
            headers=tuple(
                ("h" * choose.randrange(3) + choose.choice(["", "é", "\0"]), content())
                for _ in range(choose.choice([0, 0, 0, 0, 0, 0, 0, 1, 3, 70]))
            ),
        )
        for number in range(count)
    ]


def mutated(choose: random.Random, batch: bytes) -> bytearray:
    """Return a damaged copy: wrong bytes, lengths that lie, a cut, or only noise as records."""
    copy = bytearray(batch)
    kind = choose.randrange(6)
    if kind == 0:
        for _ in range(choose.randrange(1, 4)):
            copy[choose.randrange(len(copy))] = choose.randrange(256)
    elif kind == 1:
        place = HEADER_SIZE + choose.randrange(min(40, len(copy) - HEADER_SIZE))
        copy[place] = choose.choice([0, 1, 127, 128, 254, 255])
    elif kind == 2:
        del copy[choose.randrange(len(copy)) :]
    elif kind == 3:
        copy[choose.randrange(HEADER_SIZE)] ^= 1 << choose.randrange(8)
    elif kind == 4:
        noise = choose.choices([0, 2, 12, 14, 128, 255], k=choose.randrange(80))
        copy[HEADER_SIZE:] = bytes(noise)
    else:
        place = HEADER_SIZE + choose.randrange(len(copy) - HEADER_SIZE)
        copy[place:place] = b"\xff" * choose.randrange(1, 11)
    return copy


def check_equal(content: bytes | bytearray, choose: random.Random) -> None:
    """Compare leaf and twin over everything that reads this batch."""
    compared, expected = both(lambda: list(iterate_headers(content + content)))
    assert compared == expected
    header = outcome(lambda: read_header(content))
    if not isinstance(header, BatchHeader):
        return
    header.attributes &= ~CODEC_MASK
    check_decoded(bytes(content[HEADER_SIZE:]), header, choose)


def check_decoded(data: bytes, header: BatchHeader, choose: random.Random) -> None:
    """Compare leaf and twin over decompressed records."""
    compared, expected = both(lambda: list(decode_records(data, header)))
    assert compared == expected
    limits, need_keys = choose.choice([LIMITS, STAMPED]), choose.random() < 0.3
    compared, expected = both(
        lambda: whole(walk_records(data, header, limits, now_ms=NOW, need_keys=need_keys))
    )
    assert compared == expected
    if is_sound(data, header, limits, now_ms=NOW, need_keys=need_keys):
        assert isinstance(expected, int)
        assert limits.log_append_time or expected == header.max_timestamp


@pytest.mark.timeout(3600)
def test_random_and_damaged_batches_are_read_as_by_the_twin(
    compiled: Leaf, size: Callable[[int, int], int], seeds: Callable[[int, int], range]
) -> None:
    choose = random.Random(seeds(1, 10**6)[0])
    for _ in range(size(150, 15_000)):  # seven batches each
        records = random_records(choose)
        attributes = choose.choice([0, 0, 8, 0x10])
        encoded, expected = both(partial(encode_batch, records, 5, 3, attributes=attributes))
        assert encoded == expected
        assert isinstance(encoded, bytes)
        check_equal(encoded, choose)
        for _ in range(6):
            check_equal(mutated(choose, encoded), choose)


@pytest.mark.parametrize(
    "damage",
    [
        {"count": -1},
        {"count": 0},
        {"count": 4},
        {"count": 2},
        {"count": (1 << 31) - 1},
        {"last_offset_delta": -1},
        {"last_offset_delta": 1},
        {"last_offset_delta": -(1 << 31)},
        {"base_offset": -1},
        {"base_offset": -(1 << 63)},
        {"base_offset": (1 << 63) - 1},
        {"base_timestamp": (1 << 63) - 1},
        {"base_timestamp": -(1 << 63)},
        {"attributes": 0x7F},
        {"attributes": LOG_APPEND_TIME},
    ],
    ids=str,
)
def test_headers_that_lie_are_answered_as_by_the_twin(
    compiled: Leaf, damage: dict[str, int]
) -> None:
    batch = encode_batch([Record(timestamp=NOW + n, key=b"k", value=b"v") for n in range(3)])
    header, data = evolve(read_header(batch), **damage), batch[HEADER_SIZE:]

    check_decoded(data, header, random.Random(1))


ENDLESS: Final = b"\xff" * 12
LONG: Final = b"\xfe" + b"\xff" * 8 + b"\x01"  # 2^63 - 1
LOW: Final = b"\xff" * 9 + b"\x01"  # -2^63


@pytest.mark.parametrize(
    "record",
    [
        b"",
        b"\0",
        b"\1" + b"\0" * 6,
        *(number + b"\0" * 20 for number in (ENDLESS, LONG, LOW)),
        # In the place of each field: length, attributes, time, offset, key, value, headers.
        *(b"\x20\0" + number for number in (ENDLESS, LONG, LOW)),
        *(b"\x20\0\0" + number for number in (ENDLESS, LONG, LOW)),
        *(b"\x20\0\0\0" + number for number in (ENDLESS, LONG, LOW)),
        *(b"\x20\0\0\0\0" + number for number in (ENDLESS, LONG, LOW)),
        *(b"\x20\0\0\0\0\0" + number for number in (ENDLESS, LONG, LOW)),
        *(b"\x20\0\0\0\0\0\2" + number for number in (ENDLESS, LONG, LOW)),
        *(b"\x20\0\0\0\0\0\2\0" + number for number in (ENDLESS, LONG, LOW)),
        # Headers without end, in few bytes and in many.
        b"\x20\0\0\0\0\0\xfe\xff\xff\xff\x0f" + b"\0" * 5,
        b"\x82\x80\x04\0\0\0\0\0\x80\x80\x02" + b"\0" * 32_769,
        # A record that ends in the next one, and one that takes the rest.
        b"\x0c\0\0\0\2\2\0\x0c\0\0\2\0\0\0",
        b"\x1a\0\0\0\0\0\0\x0c\0\0\2\0\0\0",
    ],
    ids=lambda record: f"{len(record)}-{record[:18].hex()}",
)
@pytest.mark.parametrize("after", [b"", bytes(16)], ids=["end", "more"])
def test_records_that_lie_are_answered_as_by_the_twin(
    compiled: Leaf, record: bytes, after: bytes
) -> None:
    header = read_header(encode_batch([Record(timestamp=NOW)] * 2))
    for count in (1, 2):
        header.count, header.last_offset_delta = count, count - 1
        check_decoded(record + after, header, random.Random(1))


@pytest.mark.parametrize("codec", [codec for codec in Codec if codec is not Codec.NONE])
def test_compressed_bomb_is_refused_as_by_the_twin(compiled: Leaf, codec: Codec) -> None:
    many = encode_batch([Record(value=bytes(1 << 20)) for _ in range(4)], codec=codec)
    header = read_header(many)

    compared, expected = both(lambda: list(read_records(many, 0, header, limit=1 << 21)))

    assert compared == expected
    assert isinstance(compared, tuple)
    assert compared[0] is TooLargeError


def test_batch_cut_at_any_byte_is_read_as_by_the_twin(compiled: Leaf) -> None:
    choose = random.Random(1)
    records = [Record(timestamp=NOW, key=b"k", value=b"v" * 70, headers=(("h", b"x"), ("n", None)))]
    batch = encode_batch(records * 2)

    for end in range(len(batch)):
        check_equal(batch[:end], choose)


def empty_record() -> Record:
    """A record whose fields are not filled."""
    return Record.__new__(Record)


@pytest.mark.parametrize(
    "records",
    [
        [],
        [Record(offset=9), Record(offset=9)],
        [Record(offset=1)],
        [Record(offset=1 << 40)],
        [Record(timestamp=(1 << 63) - 1), Record(timestamp=-(1 << 63))],
        [Record(timestamp=1 << 64)],
        [Record(key=memoryview(b"k"))],  # type: ignore[arg-type]
        [Record(value="text")],  # type: ignore[arg-type]
        [Record(headers=(("\ud800", b""),))],
        [Record(headers=((b"name", b""),))],  # type: ignore[arg-type]
        [Record(headers=(("name", 7),))],  # type: ignore[arg-type]
        [Record(headers=(("name",),))],  # type: ignore[arg-type]
        [Record(value=b"v"), empty_record()],
    ],
)
def test_records_that_cannot_be_encoded_are_refused_as_by_the_twin(
    compiled: Leaf, records: list[Record]
) -> None:
    with_leaf, by_twin = both(lambda: encode_batch(records, 3))

    assert with_leaf == by_twin


def test_decoding_and_checks_pause_between_records_and_go_on_there(compiled: Leaf) -> None:
    batch = encode_batch([Record(timestamp=NOW, key=b"k", value=b"v") for _ in range(10)])
    header, data = read_header(batch), batch[HEADER_SIZE:]

    first = compiled.decode(Record, data, header, ScanState(), 4)
    checked = compiled.check_records(
        data, header, CheckRules(99, 0, NOW, True, True), CheckState(0, 0, -1), 4
    )

    assert first is not None
    records, state = first
    assert (len(records), state) == (4, (4 * 9, 4, 3))
    rest = compiled.decode(Record, data, header, ScanState(*state), 99)
    assert rest is not None
    assert [record.offset for record in records + rest[0]] == list(range(10))
    assert checked == (4 * 9, 4, NOW)


def test_record_of_many_headers_ends_a_step_and_one_of_very_many_is_left_to_the_twin(
    compiled: Leaf,
) -> None:
    for count, expected in ((4096, 1), (4097, None)):
        batch = encode_batch([Record(headers=(("", None),) * count), Record()])
        part = compiled.decode(Record, batch[HEADER_SIZE:], read_header(batch), ScanState(), 100)

        assert (None if part is None else len(part[0])) == expected


def test_headers_whose_checksum_is_wrong_end_the_walk(compiled: Leaf) -> None:
    batch = encode_batch([Record(value=b"v")])
    damaged = batch[:-1] + b"\xff"
    check_crc(batch, 0, read_header(batch))

    walked = compiled.headers(BatchHeader, batch + damaged + batch, 0, 9, crc32c)

    assert walked == ([(0, read_header(batch))], len(batch))
    assert compiled.headers(BatchHeader, damaged, 0, 9, crc32c) is None
    unchecked = compiled.headers(BatchHeader, batch + damaged, 0, 9, None)
    assert unchecked is not None
    assert len(unchecked[0]) == 2


def test_checksums_are_those_of_the_package_at_any_place_and_length(
    compiled: Leaf, size: Callable[[int, int], int], seeds: Callable[[int, int], range]
) -> None:
    choose = random.Random(seeds(1, 10**6)[0])
    lengths = [*range(size(70, 600)), 1000, *range(4030, 4110), 20_000]
    for length, before in product(lengths, range(8)):
        content = bytearray(choose.randbytes(before + HEADER_SIZE + length))
        UNCOVERED.pack_into(content, before, 7, length + SMALLEST_LENGTH, 3, MAGIC, 0)
        crc = crc32c(content[before + CRC_FROM :])
        UNCOVERED.pack_into(content, before, 7, length + SMALLEST_LENGTH, 3, MAGIC, crc)
        header = read_header(content, before)

        right = compiled.headers(BatchHeader, content, before, 1, crc32c)
        content[choose.randrange(before + CRC_FROM, len(content))] ^= 1 << choose.randrange(8)

        assert right == ([(before, header)], len(content))
        assert compiled.headers(BatchHeader, content, before, 1, crc32c) is None


class Dictionaried(Record):
    """Its fields are no slots of its own."""


def test_objects_without_slots_of_their_own_are_left_to_the_twin(compiled: Leaf) -> None:
    records = [Record(timestamp=NOW), Dictionaried(timestamp=NOW)]
    batch = encode_batch(records)
    header, data = read_header(batch), batch[HEADER_SIZE:]

    assert compiled.encode(records, EncodeState(0, None, -1, -1)) is None
    assert compiled.decode(Dictionaried, data, header, ScanState(), 9) is None
    assert compiled.headers(Dictionaried, batch, 0, 9, None) is None
    assert compiled.headers(Record, batch, 0, 9, None) is None
    assert header.count == 2


def test_decoded_objects_are_whole_and_freed_with_what_they_hold(compiled: Leaf) -> None:
    batch = encode_batch([Record(timestamp=NOW, key=bytes(1000), headers=(("h", b"v"),))])
    header, data = read_header(batch), batch[HEADER_SIZE:]

    def read() -> int:
        part = compiled.decode(Record, data, header, ScanState(), 9)
        rows = compiled.headers(BatchHeader, batch, 0, 9, crc32c)
        assert part is not None
        assert rows is not None
        assert (getrefcount(part[0][0].key), getrefcount(part[0][0])) == (2, 2)
        assert gc.is_tracked(part[0][0])
        compiled.encode(part[0], EncodeState(0, None, -1, -1))
        return getrefcount(part[0][0].key)

    assert read() == 2
    references = [getrefcount(cls) for cls in (Record, BatchHeader)]
    for _ in range(100):
        read()
    assert [getrefcount(cls) for cls in (Record, BatchHeader)] == references


@pytest.mark.parametrize("place", [-1, 1, 1 << 40])
def test_place_outside_of_the_data_is_a_doubt(compiled: Leaf, place: int) -> None:
    batch = encode_batch([Record(value=b"v")])
    header, data = read_header(batch), batch[HEADER_SIZE:]

    assert compiled.headers(BatchHeader, batch, place, 9, None) is None
    assert compiled.decode(Record, data, header, ScanState(place, 0, -1), 9) is None


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_sanitizers_see_no_read_outside_and_no_undefined_behaviour(
    tmp_path: Path,
) -> None:
    compiler = shutil.which("cc")
    if compiler is None or find_spec("Cython") is None:
        pytest.skip("needs a C compiler and Cython: `make leaf`, then run this again")
    source = shutil.copytree(
        PLUGIN, tmp_path / "source", ignore=shutil.ignore_patterns("__pycache__")
    )
    flags = "-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all"
    build = [sys.executable, "setup.py", "--quiet", "build_ext", "--build-lib", str(tmp_path)]
    environment = {**os.environ, "TRIO_KAFKA_LEAF_CFLAGS": flags}
    subprocess.run(build, cwd=source, env=environment, check=True)
    shutil.copy(source / "src/trio_kafka_leaf/__init__.py", tmp_path / "trio_kafka_leaf")
    runtime = subprocess.run(
        [compiler, "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    ).stdout.strip()
    environment |= {
        "LD_PRELOAD": runtime,
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "PYTHONMALLOC": "malloc",  # each object is a block of its own, with an end that is seen
        "PYTHONPATH": str(tmp_path),
        SWITCH: "on",
    }

    where = "import trio_kafka_leaf.records as leaf; print(leaf.__file__)"
    loaded = subprocess.run(
        [sys.executable, "-c", where], env=environment, capture_output=True, text=True, check=True
    )
    chosen = ["-m", "leaf", "-k", "not sanitizers", "-n", "0", "-p", "no:cacheprovider"]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *chosen, "--sizes", "long", __file__],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert loaded.stdout.startswith(str(tmp_path))
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-4000:]
    assert " passed" in run.stdout


def test_environment_switches_the_leaf_off() -> None:
    program = "from trio_kafka.records.leaf import RECORDS_BY, leaf; print(leaf(), RECORDS_BY)"
    environment = {**os.environ, SWITCH: "off"}

    shown = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )

    assert shown.stdout == f"None Python (switched off by {SWITCH})\n"
