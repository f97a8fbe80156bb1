"""JSON forms of partitions and offsets, exactly as Spark's own Kafka connector writes them.

Partitions are `{"topic": [0, 1]}`. Offsets and timestamps are `{"topic": {"0": 123}}`, and a
checkpoint holds the same. Offset -2 stands for the earliest, -1 for the latest.

The connector keeps the offsets at which a stream began in a file of the checkpoint. Spark does not
tell a source in Python where the checkpoint is, so here they are part of the end of the first
batch: a topic without partitions, whose name, which no topic can have, holds them. Spark writes
that end before the batch runs, and the connector reads it as the same offsets.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Final

from trio_kafka.model import TopicPartition

EARLIEST: Final = -2
LATEST: Final = -1
_BEGAN: Final = "began at "
_HIGHEST: Final = 2**63 - 1
_MOST_PARTITIONS: Final = 2**31 - 1
_PARTITIONS_FORM: Final = '{"topicA":[0,1],"topicB":[0,1]}'
_OFFSETS_FORM: Final = '{"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}'
_TIMESTAMPS_FORM: Final = '{"topicA":{"0":1700000000000},"topicB":{"0":1700000000000}}'

Offsets = dict[TopicPartition, int]


def parse_partitions(text: str) -> list[TopicPartition]:
    """Read `{"topic": [0, 1]}`, in order. ValueError says which form is expected."""
    partitions: set[TopicPartition] = set()
    for topic, numbers in _json_object(text, _PARTITIONS_FORM).items():
        if not isinstance(numbers, list):
            raise _unlike(_PARTITIONS_FORM, text)
        for number in numbers:
            partitions.add(TopicPartition(topic, _partition(number, _PARTITIONS_FORM, text)))
    return sorted(partitions)


def parse_offsets(text: str) -> Offsets:
    """Read `{"topic": {"0": 123}}`, with -1 and -2. ValueError says which form is expected."""
    read = _numbers(text, _OFFSETS_FORM)
    for tp, offset in read.items():
        if offset < EARLIEST:
            raise ValueError(
                f"found offset {offset} for {tp}; expected 0 or more, -1 (latest) or -2 (earliest)"
            )
    return read


def parse_timestamps(text: str) -> Offsets:
    """Read `{"topic": {"0": milliseconds}}`. ValueError says which form is expected."""
    read = _numbers(text, _TIMESTAMPS_FORM)
    for tp, timestamp in read.items():
        if timestamp < 0:
            raise ValueError(f"found timestamp {timestamp} for {tp}; expected milliseconds, >= 0")
    return read


def as_json(offsets: Mapping[TopicPartition, int]) -> dict[str, dict[str, int]]:
    """Return offsets as Spark keeps them, in one order: Spark compares offsets by their text."""
    written: dict[str, dict[str, int]] = {}
    for tp in sorted(offsets):
        written.setdefault(tp.topic, {})[str(tp.partition)] = offsets[tp]
    return written


def with_beginning(end: Mapping[str, object], beginning: Offsets) -> dict[str, object]:
    """Return the end of a first batch, in Spark's form, with the offsets at which it begins."""
    return {**end, _BEGAN + described(beginning): {}}


def beginning_in(end: Mapping[str, object]) -> Offsets | None:
    """Return the beginning that the end of a first batch holds; None: it holds none.

    Raises ValueError if it was damaged.
    """
    marks = [name for name in end if name.startswith(_BEGAN)]
    return parse_offsets(marks[0].removeprefix(_BEGAN)) if marks else None


def from_json(offsets: Mapping[str, Mapping[str, int]]) -> Offsets:
    """Return the offsets that Spark hands back from a checkpoint, ours or the connector's.

    ValueError for anything else, such as the checkpoint of another format.
    """
    return parse_offsets(json.dumps(offsets))


def described(offsets: Mapping[TopicPartition, int]) -> str:
    """Return offsets on one line, for messages."""
    return json.dumps(as_json(offsets), separators=(",", ":"))


def listed(partitions: Iterable[TopicPartition]) -> str:
    """Return partitions on one line, in order, for messages."""
    return "[" + ", ".join(map(str, sorted(partitions))) + "]"


def _numbers(text: str, form: str) -> Offsets:
    read: Offsets = {}
    for topic, by_partition in _json_object(text, form).items():
        if not isinstance(by_partition, dict):
            raise _unlike(form, text)
        for number, value in by_partition.items():
            at = _whole(value)
            if at is None or not -_HIGHEST <= at <= _HIGHEST:
                raise _unlike(form, text)
            read[TopicPartition(topic, _partition(number, form, text))] = at
    return read


def _json_object(text: str, form: str) -> dict[str, object]:
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        raise _unlike(form, text) from None
    if not isinstance(read, dict):
        raise _unlike(form, text)
    return read


def _partition(number: object, form: str, text: str) -> int:
    read = _whole(number)
    if read is None or not 0 <= read <= _MOST_PARTITIONS:
        raise _unlike(form, text)
    return read


def _whole(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str) and value.removeprefix("-").isdecimal() and len(value) <= 20:
        return int(value)
    return None


def _unlike(form: str, text: str) -> ValueError:
    shown = text if len(text) <= 200 else text[:200] + "…"
    return ValueError(f"found {shown!r}; expected JSON such as {form}")
