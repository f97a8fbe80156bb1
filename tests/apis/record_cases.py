"""Produced batches, good and hostile, with the settings of the topic that each of them goes to.

Every field of a batch can be what a case wants, so batches are made by hand.
"""

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from attrs import field, frozen
from crc32c import crc32c

from trio_kafka.records.compression import Codec, compress
from trio_kafka.records.header import HEADER_SIZE, LOG_APPEND_TIME
from trio_kafka.records.varint import encode_varint as varint

MINUTE: Final = 60_000
DAY: Final = 24 * 60 * MINUTE
NAMED: Final = 12  # newest version of Produce and Fetch with topics by name
COMPACT: Final = {"cleanup.policy": "compact"}
APPEND_TIME: Final = {"message.timestamp.type": "LogAppendTime"}
OLDEST: Final = {"message.timestamp.before.max.ms": str(10 * MINUTE)}
NEWEST: Final = {"message.timestamp.after.max.ms": str(10 * MINUTE)}
TARGETS: Final = ("producer", "uncompressed", "gzip", "snappy", "lz4", "zstd")
SMALL_LIMIT: Final = {"max.message.bytes": "1000"}
BOMB: Final = 4 << 20

Make = Callable[[int], bytes]


# Bytes of records and batches, each field as a case wants it


def record(
    delta: int = 0,
    later: int = 0,
    key: bytes | None = b"k",
    value: bytes | None = b"value",
    headers: bytes = b"\0",
    *,
    attributes: int = 0,
    more: bytes = b"",
    length: int | None = None,
) -> bytes:
    """One record. later: timestamp delta. headers: number and content. length: a false one."""
    body = bytes((attributes,)) + varint(later) + varint(delta)
    body += sized(key) + sized(value) + headers + more
    return varint(len(body) if length is None else length) + body


def sized(content: bytes | None, size: int | None = None) -> bytes:
    if content is None:
        return varint(-1)
    return varint(len(content) if size is None else size) + content


THREE: Final = (
    record(0, 0, b"a", b"first", varint(2) + sized(b"h") + sized(b"v") + sized(b"n") + varint(-1))
    + record(1, 5, b"b", None)
    + record(2, 2, b"", b"third" * 40)
)


def batch(
    body: bytes = THREE,
    codec: int = 0,
    *,
    now: int,
    count: int = 3,
    last: int | None = None,
    base: int = 0,
    latest: int = 5,
    attributes: int = 0,
    producer: tuple[int, int, int] = (-1, -1, -1),
    base_offset: int = 0,
    epoch: int = -1,
    magic: int = 2,
    length: int | None = None,
    crc: int = 0,
    block: bytes | None = None,
) -> bytes:
    """One batch. base, latest: timestamps from now on; -1 is none. crc: changes it.

    block: records as compressed; None: by `codec`.
    """
    if block is None:
        block = compress(Codec(codec), body)
    covered = struct.pack(
        ">hiqqqhii",
        attributes | codec,
        count - 1 if last is None else last,
        -1 if base == -1 else now + base,
        -1 if latest == -1 else now + latest,
        *producer,
        count,
    )
    checked = crc32c(block, crc32c(covered)) ^ crc
    size = len(covered) + len(block) + 9 if length is None else length
    return struct.pack(">qiiBI", base_offset, size, epoch, magic, checked) + covered + block


@frozen
class Case:
    """Batches sent in turn to a topic of their own.

    hidden: a rule that the header of the batch does not show.
    """

    name: str
    batches: Sequence[Make]
    configs: Mapping[str, str] = field(factory=dict)
    version: int = NAMED
    hidden: bool = False


def case(
    name: str,
    body: bytes = THREE,
    codec: int = 0,
    *,
    configs: Mapping[str, str] | None = None,
    hidden: bool = False,
    version: int = NAMED,
    **fields: Any,
) -> Case:
    def make(now: int) -> bytes:
        return batch(body, codec, now=now, **fields)

    return Case(name, [make], configs or {}, version, hidden)


def one_record(name: str, body: bytes, codec: int = 0, **more: Any) -> Case:
    """A case of a batch that claims one record, whose content is what is wrong."""
    return case(name, body, codec, count=1, latest=0, hidden=True, **more)


def frame(name: str, change: Callable[[bytes], bytes]) -> Case:
    """A case of a records field that is not one batch of magic 2."""
    return Case(name, [lambda now: change(batch(now=now))])


# The table


def compression_cases() -> Iterable[Case]:
    for target in TARGETS:
        configs = {"compression.type": target}
        for codec in Codec:
            yield case(f"{codec.name} to {target}", codec=codec, configs=configs)
        yield case(f"append time to {target}", codec=1, configs={**configs, **APPEND_TIME})
        producer = (4000 + TARGETS.index(target), 0, 0)
        yield Case(
            f"producer to {target}",
            [lambda now, p=producer: batch(codec=4, now=now, producer=p)] * 2,
            configs,
        )
    for target in ("uncompressed", "lz4"):
        configs = {"compression.type": target}
        for name, fields in {
            "a wrong latest time": {"latest": 99},
            "a base time of no record": {"base": -7, "latest": -2},
            "no times": {"base": -1, "latest": -1},
            "bit 7": {"attributes": 0x80},
            "bits 8 to 15": {"attributes": 0x5A00},
            "a delete horizon": {"attributes": 0x40},
            "a leader epoch": {"epoch": 77},
        }.items():
            yield case(f"{name} to {target}", codec=1, configs=configs, **fields)
        for name, deltas in {"gap": (0, 1, 5), "no order": (2, 0, 1), "equal": (0, 0, 0)}.items():
            body = b"".join(record(delta, delta) for delta in deltas)
            yield case(f"deltas {name} to {target}", body, 1, configs=configs)
        body = record(0, attributes=3) + record(1, attributes=0xFF) + record(2)
        yield case(f"record attributes to {target}", body, 1, configs=configs, latest=0)
    for version in (3, 6, 7):
        yield case(f"zstd in version {version}", codec=4, version=version)
        zstd = {"compression.type": "zstd"}
        yield case(f"to zstd in version {version}", configs=zstd, version=version)


def time_cases() -> Iterable[Case]:
    old = {"base": -20 * MINUTE}
    for codec in (Codec.NONE, Codec.LZ4):
        kind = codec.name

        def timed(name: str, configs: Mapping[str, str], codec: Codec = codec, **how: Any) -> Case:
            return case(f"{codec.name} {name}", codec=codec, configs=configs, **how)

        yield timed("too old", OLDEST, **old, latest=-20 * MINUTE + 5)
        yield timed("too old by days", {}, base=-4000 * DAY, latest=5 - 4000 * DAY)
        yield timed("too new", NEWEST, base=20 * MINUTE, latest=20 * MINUTE + 5)
        yield timed("too new by default", {}, base=120 * MINUTE, latest=120 * MINUTE + 5)
        yield timed("old enough", OLDEST, base=-5 * MINUTE, latest=-5 * MINUTE + 5)
        yield timed("new enough", NEWEST, base=5 * MINUTE, latest=5 * MINUTE + 5)
        yield timed("none", OLDEST, base=-1, latest=-1, hidden=True)
        yield timed("negative", {}, base=-(1 << 42), latest=-(1 << 42) + 5)
        for name, minutes in {
            "first": (20, 0, 0),
            "second": (0, 20, 0),
            "two": (20, 0, 20),
        }.items():
            body = b"".join(record(n, -m * MINUTE) for n, m in enumerate(minutes))
            yield case(f"{kind} {name} too old", body, codec, configs=OLDEST, latest=0, hidden=True)
            yield case(
                f"{kind} {name} too old, append time",
                body,
                codec,
                latest=0,
                configs={**OLDEST, **APPEND_TIME},
            )
            body = b"".join(record(n, m * MINUTE) for n, m in enumerate(minutes))
            top = 20 * MINUTE
            yield case(
                f"{kind} {name} too new", body, codec, configs=NEWEST, latest=top, hidden=True
            )
        yield timed("latest too early", {}, latest=1, hidden=True)
        yield timed("latest too late", {}, latest=9, hidden=True)
        yield timed("latest far too late", {}, latest=300 * DAY, hidden=True)
        yield timed("latest before base", {}, latest=-9, hidden=True)
        yield timed("latest none", {}, latest=-1, hidden=True)
        yield timed("append time", APPEND_TIME)
        yield timed("append time, old", {**OLDEST, **APPEND_TIME}, **old, latest=-20 * MINUTE + 5)
        yield timed("append time by the producer", {}, attributes=LOG_APPEND_TIME)
        yield timed("append time by the producer, none", {}, attributes=LOG_APPEND_TIME, latest=-1)
        yield timed("append time by both", APPEND_TIME, attributes=LOG_APPEND_TIME)
        yield timed("unknown attributes, append time", APPEND_TIME, attributes=0x5A80)
        yield timed("delete horizon, append time", APPEND_TIME, attributes=0x40)
        yield timed(
            "append time by the producer, old",
            OLDEST,
            attributes=LOG_APPEND_TIME,
            latest=-20 * MINUTE,
        )
        yield timed("unknown attributes, latest too late", {}, latest=300 * DAY, attributes=0x5A80)
        later = record(0, 3) + record(1, 4) + record(2, 2)
        yield case(f"{kind} base before all", later, codec, latest=4)


def size_cases() -> Iterable[Case]:
    head = len(batch(record(value=b""), now=0, count=1))
    for size, name in ((1000, "largest"), (1001, "too large")):
        body = record(value=bytes(size - head - 2))
        body = record(value=bytes(size - head - 2 - (len(body) + HEADER_SIZE - size)))
        yield case(f"{name} batch", body, count=1, latest=0, configs=SMALL_LIMIT)
    body = record(value=bytes(5000))
    yield case("small when compressed", body, 1, count=1, latest=0, configs=SMALL_LIMIT)
    grows = {**SMALL_LIMIT, "compression.type": "uncompressed"}
    yield case("too large when uncompressed", body, 1, count=1, latest=0, configs=grows)
    shrinks = {**SMALL_LIMIT, "compression.type": "gzip"}
    yield case("small only when it is compressed", body, count=1, latest=0, configs=shrinks)
    segment = record(value=bytes(2 << 20))
    limits = {"max.message.bytes": str(8 << 20), "segment.bytes": str(1 << 20)}
    yield case("more than a segment", segment, count=1, latest=0, configs=limits)
    limit = {"max.decompressed.message.bytes": "1000"}
    for codec in Codec:
        small = record(value=bytes(900))
        many = small + record(1, value=bytes(900)) + record(2, value=bytes(900))
        for name, content, count in (("one", small, 1), ("many", many, 3), ("large", body, 1)):
            yield case(
                f"{codec.name} decompressed {name}",
                content,
                codec,
                count=count,
                latest=0,
                configs=limit,
                hidden=True,
            )
        for size in (1000, 1001):
            fits = record(value=bytes(size - 8))
            assert len(fits) == size + 2, len(fits)
            yield one_record(f"{codec.name} decompressed {size}", fits, codec, configs=limit)
        if codec:
            bomb = record(value=bytes(BOMB))
            yield one_record(f"{codec.name} bomb", bomb, codec)
            bounded = {"max.decompressed.message.bytes": str(1 << 20), "compression.type": "lz4"}
            yield case(
                f"{codec.name} bomb to lz4",
                bomb,
                codec,
                count=1,
                latest=0,
                configs=bounded,
                hidden=codec is Codec.LZ4,
            )


def key_cases() -> Iterable[Case]:
    null, empty = {"key": None}, {"key": b""}
    for codec in Codec:
        for name, keys in {
            "all keys": ({}, {}, {}),
            "empty keys": (empty, empty, empty),
            "no keys": (null, null, null),
            "the second without": ({}, null, {}),
            "two without": (null, {}, null),
        }.items():
            body = b"".join(record(n, **how) for n, how in enumerate(keys))
            yield case(f"{codec.name} {name}, compacted", body, codec, configs=COMPACT, latest=0)
    body = b"".join(record(n, key=None) for n in range(3))
    both = {"cleanup.policy": "compact,delete"}
    yield case("no keys, compacted and deleted", body, configs=both, latest=0)
    yield case("no keys, deleted", body, latest=0)
    mixed = record(0, key=None) + record(1, -20 * MINUTE) + record(2)
    bounded = {**COMPACT, **OLDEST}
    for codec in (0, 2):
        yield case(f"no key and too old {codec}", mixed, codec, configs=bounded, latest=0)
        for version in (7, 8):
            yield case(
                f"no key in version {version} {codec}", body, codec, configs=COMPACT, latest=0,
                version=version,
            )  # fmt: skip
    many = b"".join(record(n, key=None) for n in range(50))
    yield case("fifty without keys", many, count=50, configs=COMPACT, latest=0)
    recoded = {**COMPACT, "compression.type": "zstd"}
    yield case("no keys to zstd", body, 1, configs=recoded, latest=0)


def record_cases() -> Iterable[Case]:
    for codec in Codec:
        kind = codec.name
        yield case(f"{kind} fewer records", codec=codec, count=4, hidden=True)
        yield case(f"{kind} more records", codec=codec, count=2, hidden=True)
        yield case(f"{kind} bytes after the records", THREE + b"\0", codec, hidden=True)
        for name, body in {
            "no records": b"",
            "length too large": record(length=100),
            "length too small": record(length=5),
            "length a byte too large": record(length=14),
            "length 0": b"\0",
            "negative length": record(length=-5),
            "length of six bytes": b"\xff" * 5 + b"\x01" + bytes(20),
            "bytes after the headers": record(more=b"xy"),
            "key too long": b"\x14\0\0\0" + varint(99) + b"abcdef",
            "key of -2": record(key=None)[:4] + varint(-2) + record(key=None)[5:],
            "value of -7": varint(7) + b"\0\0\0" + varint(1) + b"k" + varint(-7) + b"\0",
            "value too long": varint(9) + b"\0\0\0" + varint(1) + b"k" + varint(50) + b"ab\0",
            "-1 headers": record(headers=varint(-1)),
            "too many headers": record(headers=varint(9)),
            "header without a name": record(headers=varint(1) + varint(-1) + varint(-1)),
            "header name too long": record(headers=varint(1) + varint(9) + b"a" + varint(-1)),
            "header value too long": record(headers=varint(1) + sized(b"a") + varint(9)),
            "header value of -3": record(headers=varint(1) + sized(b"a") + varint(-3)),
            "header name of no text": record(headers=varint(1) + sized(b"\xff\xfe") + varint(-1)),
            "attributes": record(attributes=0x13),
            "time of eleven bytes": varint(20) + b"\0" + b"\xff" * 10 + b"\x01" + bytes(8),
            "time beyond 64 bits": record(later=(1 << 62)),
            "offset delta 7": record(delta=7),
            "offset delta -1": record(delta=-1),
        }.items():
            yield one_record(f"{kind} {name}", body, codec)
        for name, deltas in {"gap": (0, 1, 5), "no order": (2, 0, 1), "equal": (0, 0, 0)}.items():
            body = b"".join(record(delta) for delta in deltas)
            yield case(f"{kind} deltas {name}", body, codec, latest=0, hidden=True)
        if codec:
            block = compress(codec, THREE)
            torn, broken = block[: len(block) // 2], bytearray(block)
            broken[len(block) // 2] ^= 0x55
            for name, changed in {
                "empty block": b"",
                "torn block": torn,
                "broken block": bytes(broken),
                "block of noise": b"\x17\x99" * 40,
                "bytes after the block": block + b"\0\1\2\3",
                "two blocks": compress(codec, THREE[:40]) + compress(codec, THREE[40:]),
                "block in a block": compress(codec, block),
                "plain block": THREE,
            }.items():
                yield case(f"{kind} {name}", codec=codec, block=changed, hidden=True)
                configs = {"compression.type": "uncompressed"}
                yield case(
                    f"{kind} {name} to uncompressed",
                    codec=codec,
                    block=changed,
                    configs=configs,
                )


def header_cases() -> Iterable[Case]:
    for number in (5, 6, 7):
        yield case(f"codec {number}", attributes=number)
        again = {"compression.type": "gzip"}
        yield case(f"codec {number} to gzip", attributes=number, configs=again)
    for name, fields in {
        "bit 7": {"attributes": 0x80},
        "bits 8 to 15": {"attributes": 0x5A00},
        "a delete horizon": {"attributes": 0x40},
        "a control batch": {"attributes": 0x20},
        "transactional, no producer": {"attributes": 0x10},
        "no count": {"count": 0},
        "no count, last 2": {"count": 0, "last": 2},
        "a negative count": {"count": -1, "last": 2},
        "a last delta too small": {"last": 1},
        "a last delta too large": {"last": 3},
        "a negative last delta": {"last": -1},
        "the largest count": {"count": 0x7FFFFFFF},
        "a base offset": {"base_offset": 5},
        "a negative base offset": {"base_offset": -3},
        "a leader epoch": {"epoch": 9},
        "no sequence": {"producer": (9, 0, -1)},
        "no epoch": {"producer": (9, -1, 0)},
        "a negative epoch": {"producer": (9, -5, 0)},
        "producer -2": {"producer": (-2, 0, 0)},
        "producer -1 with a sequence": {"producer": (-1, 3, 8)},
        "a sequence of -5": {"producer": (9, 0, -5)},
        "a wrong crc": {"crc": 1},
        "magic 0": {"magic": 0},
        "magic 1": {"magic": 1},
        "magic 3": {"magic": 3},
        "magic 255": {"magic": 255},
        "length 0": {"length": 0},
        "length 13": {"length": 13},
        "length 14": {"length": 14},
        "length 48": {"length": 48},
        "length 49": {"length": 49},
        "a length too large": {"length": 9999},
        "a negative length": {"length": -1},
    }.items():
        yield case(f"header: {name}", **fields)
    sequences = ((9, 0, 0), (9, 0, 3), (9, 0, 3), (9, 0, 7), (9, 1, 3), (9, 1, 0), (9, 0, 6))
    yield Case(
        "sequences",
        [lambda now, p=producer: batch(now=now, producer=p) for producer in sequences],
    )
    for epoch in (-1, 0):
        batches = [
            lambda now, p=(9, epoch, at): batch(now=now, producer=p, count=3) for at in (0, 7, 1)
        ]
        yield Case(f"gaps in sequences of epoch {epoch}", batches)
    end = (1 << 31) - 2
    yield Case(
        "sequences that wrap",
        [lambda now, p=(9, 0, at): batch(now=now, producer=p) for at in (end, 1)],
    )


def frame_cases() -> Iterable[Case]:

    yield frame("empty", lambda _: b"")
    yield frame("noise", lambda _: b"\x5a" * 100)
    yield frame("zeros", lambda _: bytes(100))
    yield frame("a byte short", lambda whole: whole[:-1])
    yield frame("two batches", lambda whole: whole + whole)
    for count in (1, 11, 12, 16, 17, 60, 80):
        yield frame(f"{count} bytes of a batch", lambda whole, n=count: whole[:n])
        yield frame(f"{count} bytes of another", lambda whole, n=count: whole + whole[:n])
    yield frame("zeros after it", lambda whole: whole + bytes(100))
    yield frame("noise after it", lambda whole: whole + b"\x5a" * 100)


def cases() -> list[Case]:
    every_case = [
        *compression_cases(),
        *time_cases(),
        *size_cases(),
        *key_cases(),
        *record_cases(),
        *header_cases(),
        *frame_cases(),
    ]
    assert len({each.name for each in every_case}) == len(every_case)
    return every_case
