"""Whole frames of every declared request, from a seed; and what a bad peer or line makes of them.

Values are those that handlers tell apart: names and ids that are there, small numbers, the ends of
a type. Hypothesis would draw them too, at a hundredth of the speed.
"""

import pkgutil
import struct
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from random import Random
from typing import Any, Final

from attrs import define, frozen

from tests.protocol.declared import RANGES
from tests.records.kit import encode_batch
from trio_kafka.protocol import messages
from trio_kafka.protocol.compiler import decoder
from trio_kafka.protocol.fields import Field
from trio_kafka.protocol.headers import response_header_version
from trio_kafka.protocol.schema import Message, fields_of, message_of
from trio_kafka.protocol.versions import covers
from trio_kafka.records.batch import Record
from trio_kafka.testing.scripted_client import request_frame

TOPICS: Final = tuple(f"fuzz-{n}" for n in range(12))
WORDS: Final = (
    *TOPICS,
    *("", "1", "-1", "100", "delete", "compact", "producer", "lz4", "CreateTime", "nobody"),
    *("retention.ms", "cleanup.policy", "max.message.bytes", "compression.type", "no.such.setting"),
    *(".", "..", "a/b", "\0", "ä", "x" * 249, "x" * 250, "y" * 3000),
)
# Fields that would make a whole run wait, or fill the disk, if any number stood in them.
CHOSEN: Final[Mapping[str, Sequence[int]]] = {
    "acks": (1, 1, -1, -1, 0, 2),
    "broker_id": (0, 7, -1),  # never the broker's own: it obeys
    "count": (1, 2, 3, 0, -1, 2**31 - 1),
    "isolation_level": (0, 0, 0, 1, 1, 2, -1),
    "max_wait_ms": (0, 0, 1, 5, -1),
    "num_partitions": (1, 1, 2, 3, 0, -1, -2, 10_001, 2**31 - 1),
    "replica_id": (-1, -1, -1, -1, -2, 1, 7),
    "replication_factor": (1, 1, -1, 0, 2),
    "resource_type": (2, 2, 2, 0, 4, 8, 16, 32, 99),
    "timeout_ms": (1000, 5000, 100, 0, -1),
}
# Fields of which most numbers would only say that something is not there.
LIKELY: Final[Mapping[str, Sequence[int]]] = {
    "current_leader_epoch": (-1, -1, -1, 0, 1),
    "fetch_offset": (0, 0, 0, 1, 2, 30, -1),
    "index": (0, 0, 0, 1),
    "last_fetched_epoch": (-1, -1, 0),
    "max_bytes": (1 << 16, 1 << 16, 100, 1, 0),
    "min_bytes": (1, 1, 1, 0, 1 << 20),
    "partition": (0, 0, 0, 1),
    "partition_index": (0, 0, 0, 1),
    "partition_max_bytes": (1 << 16, 1 << 16, 100, 1, 0),
    "session_epoch": (-1, -1, 0, 0, 1),
    "session_id": (0, 0, 0, 1),
}
NAMED: Final = {"", "name", "topic", "resource_name", "topic_name"}
API_VERSIONS: Final = 18
NUMBERS: Final = (0, 0, 0, 0, 1, 1, 1, 2, 3, 7, 100, -1, -1, -2, -100)


@frozen(kw_only=True)
class Sent:
    """One frame, and what its answer is: none for a write without acks."""

    key: int
    version: int
    correlation: int
    data: bytes
    request: Any

    @property
    def answered(self) -> bool:
        return getattr(self.request, "acks", 1) != 0

    def read(self, answer: bytes | memoryview) -> Any:
        """The answer as its message. AssertionError where it is not this request's, or not
        whole.
        """
        message = message_of(type(self.request))
        response = message.response
        assert response is not None
        (correlation,) = struct.unpack_from(">i", answer)
        assert correlation == self.correlation
        position = 4 + response_header_version(message_of(response), self.version)
        if message.key == API_VERSIONS and struct.unpack_from(">h", answer, 4) == (35,):
            return decoder(response, 0)(answer, position)[0]  # in version 0, whatever was asked
        read, end = decoder(response, self.version)(answer, position)
        assert end == len(answer), f"{len(answer) - end} bytes behind the answer to {self.request}"
        return read


@cache
def request_classes() -> Mapping[int, type[Any]]:
    """Every declared request by its key, ours too."""
    modules = [
        import_module(info.name)
        for info in pkgutil.iter_modules(messages.__path__, f"{messages.__name__}.")
    ]
    result = {
        value: value.__dict__["__message__"]
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type) and isinstance(value.__dict__.get("__message__"), Message)
    }
    return {m.key: cls for cls, m in result.items() if m.kind == "request" and m.key is not None}


@define(eq=False)
class Speaker:
    """Says requests. ids: of topics that are there; now_ms: the time of its records."""

    chance: Random
    ids: Sequence[bytes]
    now_ms: int
    _flexible: bool = False

    def say(self, key: int, version: int, correlation: int) -> Sent:
        cls = request_classes()[key]
        self._flexible = covers(message_of(cls).flexible, version)
        request = self.instance(cls, version, 0)
        return Sent(
            key=key,
            version=version,
            correlation=correlation,
            data=request_frame(request, version, correlation=correlation, client_id="fuzz"),
            request=request,
        )

    def instance(self, cls: type[Any], version: int, depth: int) -> Any:
        values = {field.name: self.value(field, version, depth) for field in fields(cls, version)}
        if self._flexible and self.chance.random() < 0.05:
            values["unknown_tags"] = {self.chance.randrange(50, 9999): b"tag"}
        return cls(**values)

    def value(self, field: Field, version: int, depth: int) -> Any:
        chance, kind = self.chance, field.kind
        if covers(field.nullable, version) and chance.random() < 0.1:
            return None
        if kind in RANGES:
            return self.number(field)
        if kind == "array":
            count = chance.choice((0, 1, 1, 1, 2, 3) if depth < 4 else (0, 1))
            return [self.value(field.item, version, depth + 1) for _ in range(count)]
        if kind == "struct":
            return self.instance(field.part, version, depth + 1)
        if kind == "string" and field.name in NAMED and chance.random() < 0.7:
            return chance.choice(TOPICS)
        return OTHERS[kind](self)

    def number(self, field: Field) -> int:
        chance = self.chance
        if field.name in CHOSEN:
            return chance.choice(CHOSEN[field.name])
        if field.name in LIKELY and chance.random() < 0.8:
            return chance.choice(LIKELY[field.name])
        low, high = RANGES[field.kind]
        if chance.random() < 0.1:
            return chance.choice((low, high, chance.randint(low, high)))
        return max(low, chance.choice(NUMBERS))

    def uuid(self) -> bytes:
        chance = self.chance
        draw = chance.random()
        if draw < 0.7 and self.ids:
            return chance.choice(self.ids)
        return bytes(16) if draw < 0.9 else chance.randbytes(16)

    def batch(self) -> bytes:
        """Records as a producer sends them, or nearly."""
        chance = self.chance
        records = [
            Record(timestamp=self.now_ms, key=b"k", value=chance.randbytes(chance.randrange(40)))
            for _ in range(chance.randrange(1, 4))
        ]
        producer = (chance.choice(NUMBERS), chance.choice(NUMBERS), chance.choice(NUMBERS))
        named = dict(zip(("producer_id", "producer_epoch", "base_sequence"), producer, strict=True))
        batch = encode_batch(records, **(named if chance.random() < 0.3 else {}))
        draw = chance.random()
        if draw < 0.7:
            return batch
        if draw < 0.8:
            return batch * 2
        return overwritten(batch, chance) if draw < 0.95 else chance.randbytes(chance.randrange(99))


OTHERS: Final[Mapping[str, Callable[[Speaker], Any]]] = {
    "float64": lambda speaker: speaker.chance.choice((0.0, 1.5, -1.0, float("inf"))),
    "boolean": lambda speaker: speaker.chance.random() < 0.5,
    "uuid": Speaker.uuid,
    "string": lambda speaker: speaker.chance.choice(WORDS),
    "bytes": lambda speaker: speaker.chance.randbytes(speaker.chance.choice((0, 1, 20, 200))),
    "records": Speaker.batch,
}


@cache
def fields(cls: type[Any], version: int) -> tuple[Field, ...]:
    """Those that the version has."""
    return tuple(field for field in fields_of(cls) if covers(field.versions, version))


# --- what may happen to a frame


def sized(payload: bytes) -> bytes:
    return struct.pack(">i", len(payload)) + payload


def overwritten(data: bytes, chance: Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 8))):
        changed[chance.randrange(len(changed))] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, 0x55))
    return bytes(changed)


def cut(data: bytes, chance: Random) -> bytes:
    """Too short; the frame says so."""
    return sized(data[4 : chance.randrange(4, len(data))])


def unfinished(data: bytes, chance: Random) -> bytes:
    """Too short; what follows on the connection is taken for the rest."""
    return data[: chance.randrange(len(data))]


def lengthened(data: bytes, chance: Random) -> bytes:
    return sized(data[4:] + chance.randbytes(chance.randrange(1, 40)))


def promising(data: bytes, chance: Random) -> bytes:
    """A length or a count somewhere in it is giant or negative."""
    count = chance.choice(COUNTS)
    place = chance.randrange(4, len(data))
    return sized((data[:place] + count + data[place + len(count) :])[4:])


COUNTS: Final = tuple(map(bytes.fromhex, ("7fffffff", "fffffffe", "ffffffff07", "7fff", "ffff")))


def missized(data: bytes, chance: Random) -> bytes:
    size = chance.choice((0, -1, 9, len(data) - 5, len(data), 2**31 - 1, -(2**31), 1 << 20))
    return struct.pack(">i", size) + data[4:]


def misversioned(data: bytes, chance: Random) -> bytes:
    return data[:6] + struct.pack(">h", chance.choice((-1, 0, 1, 5, 12, 99, 32767))) + data[8:]


def miskeyed(data: bytes, chance: Random) -> bytes:
    return data[:4] + struct.pack(">h", chance.choice((-1, 0, 1, 3, 18, 19, 77, 10_001))) + data[6:]


def repeated(data: bytes, chance: Random) -> bytes:
    first, last = sorted(chance.randrange(4, len(data) + 1) for _ in range(2))
    return sized((data[:last] + data[first:])[4:])


def noise(data: bytes, chance: Random) -> bytes:
    return chance.randbytes(len(data))


HARMS: Final[Sequence[Callable[[bytes, Random], bytes]]] = (
    *(overwritten, overwritten, overwritten, cut, unfinished, lengthened, promising, promising),
    *(missized, misversioned, miskeyed, repeated, noise),
)


def harmed(data: bytes, chance: Random) -> bytes:
    """The frame, as it should never come."""
    return chance.choice(HARMS)(data, chance)
