"""Rules about records. Each returns its violations, in the order of the history.

Two promises depend on the clients. Order needs an idempotent producer, or one batch in flight at a
time. Durability across a power loss needs `flush.messages=1` or a second replica.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping
from itertools import pairwise
from typing import Final

from trio_kafka.model import TopicPartition
from trio_kafka.testing.checkers.history import Acknowledged, History, Positioned, Read, Sent
from trio_kafka.testing.checkers.violation import Log, Violation, extent, shown

Starts = Mapping[TopicPartition, int]
_NO_STARTS: Final[Starts] = {}


def lost_records(history: History, log: Log, starts: Starts = _NO_STARTS) -> list[Violation]:
    """Nothing that was acknowledged or read is lost.

    starts: first offset of a partition, below which records were deleted on purpose.
    """
    found = []
    known: dict[tuple[TopicPartition, int], str] = {}
    for one in history.events:
        if isinstance(one, Acknowledged | Read):
            how = "acknowledged" if isinstance(one, Acknowledged) else f"read by {one.consumer}"
            records = log.get(one.at, {})
            if one.offset < 0:
                if one.record not in records.values():
                    text = f"{shown(one.record)} was {how} in {one.at}; {extent(records)}"
                    found.append(Violation("lost", one.at, (), f"{text}, without it"))
            elif one.offset >= starts.get(one.at, 0) and one.offset not in records:
                text = f"{shown(one.record)} was {how} at offset {one.offset} of {one.at}"
                known.setdefault((one.at, one.offset), f"{text}; {extent(records)}")
    found += [Violation("lost", at, (offset,), text) for (at, offset), text in known.items()]
    return found


def replaced_records(history: History, log: Log) -> list[Violation]:
    """An offset has one record: to each producer, to each consumer, and in the log."""
    found = []
    known: dict[tuple[TopicPartition, int], tuple[Hashable, str]] = {}
    for one in history.events:
        if isinstance(one, Acknowledged | Read) and one.offset >= 0:
            how = "acknowledged" if isinstance(one, Acknowledged) else f"read by {one.consumer}"
            before, earlier = known.setdefault((one.at, one.offset), (one.record, how))
            if before != one.record:
                text = f"offset {one.offset} of {one.at}: {shown(before)} was {earlier}"
                text = f"{text}, {shown(one.record)} was {how}"
                found.append(Violation("replaced", one.at, (one.offset,), text))
    for (at, offset), (record, how) in known.items():
        there = log.get(at, {}).get(offset, record)
        if there != record:
            text = f"offset {offset} of {at}: {shown(record)} was {how}"
            found.append(
                Violation("replaced", at, (offset,), f"{text}, the log has {shown(there)}")
            )
    return found


def doubled_records(history: History, log: Log) -> list[Violation]:
    """A record of an idempotent producer is in the log at most as often as it was sent."""
    sent = Counter((one.topic, one.record) for one in history.of(Sent) if one.idempotent)
    others = {(one.topic, one.record) for one in history.of(Sent) if not one.idempotent}
    places: dict[tuple[str, Hashable], list[tuple[TopicPartition, int]]] = defaultdict(list)
    for at, records in log.items():
        for offset, record in records.items():
            if (at.topic, record) in sent and (at.topic, record) not in others:
                places[at.topic, record].append((at, offset))
    found = []
    for key, there in places.items():
        if len(there) > sent[key]:
            times = "once" if sent[key] == 1 else f"{sent[key]} times"
            listed = ", ".join(f"offset {offset} of {at}" for at, offset in there)
            text = f"{shown(key[1])} was sent {times} with idempotence, and is at {listed}"
            offsets = tuple(offset for _, offset in there)
            found.append(Violation("doubled", there[0][0], offsets, text))
    return found


def disordered_records(history: History) -> list[Violation]:
    """A partition keeps the order of each producer, and a consumer reads in order of offsets."""
    return [*_disordered_sends(history), *_disordered_reads(history)]


def _disordered_sends(history: History) -> list[Violation]:
    places: dict[tuple[str, str, Hashable], int] = {}
    for number, sent in enumerate(history.of(Sent)):
        places.setdefault((sent.producer, sent.topic, sent.record), number)
    acknowledged: dict[tuple[str, TopicPartition], list[tuple[int, Acknowledged]]]
    acknowledged = defaultdict(list)
    for one in history.of(Acknowledged):
        place = places.get((one.producer, one.topic, one.record))
        if place is not None and one.offset >= 0:
            acknowledged[one.producer, one.at].append((place, one))
    found = []
    for (producer, at), rows in acknowledged.items():
        rows.sort(key=lambda row: row[0])
        for (_, earlier), (_, later) in pairwise(rows):
            if later.offset <= earlier.offset:
                text = (
                    f"{producer} sent {shown(earlier.record)} before {shown(later.record)} to {at};"
                    f" their offsets are {earlier.offset} and {later.offset}"
                )
                found.append(Violation("order", at, (earlier.offset, later.offset), text))
    return found


def _disordered_reads(history: History) -> list[Violation]:
    found = []
    last: dict[tuple[str, TopicPartition], int] = {}
    for one in history.events:
        if isinstance(one, Positioned):
            last[one.consumer, one.at] = one.offset - 1
        elif isinstance(one, Read):
            before = last.get((one.consumer, one.at), -1)
            if one.offset <= before:
                text = (
                    f"{one.consumer} read offset {one.offset} of {one.at} ({shown(one.record)})"
                    f" after offset {before}"
                )
                found.append(Violation("order", one.at, (before, one.offset), text))
            last[one.consumer, one.at] = one.offset
    return found


def skipped_records(history: History, log: Log) -> list[Violation]:
    """A consumer reads every record from its position to the last one that it has read."""
    found = []
    following: dict[tuple[str, TopicPartition], int] = {}
    ordered = {at: sorted(records) for at, records in log.items()}
    for one in history.events:
        if isinstance(one, Positioned):
            following[one.consumer, one.at] = one.offset
        elif isinstance(one, Read):
            expected = following.get((one.consumer, one.at), one.offset)
            if expected < one.offset:
                missed = [n for n in ordered.get(one.at, ()) if expected <= n < one.offset]
                if missed:
                    text = (
                        f"{one.consumer} was at offset {expected} of {one.at} and read {one.offset}"
                        f" next; {shown(log[one.at][missed[0]])} is at {missed[0]}"
                    )
                    found.append(Violation("skipped", one.at, (missed[0], one.offset), text))
            following[one.consumer, one.at] = one.offset + 1
    return found
