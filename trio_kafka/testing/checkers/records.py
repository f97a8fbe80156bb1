"""Rules about records. Each returns its violations, in the order of the history.

Two promises depend on the clients. Order needs an idempotent producer, or one batch in flight at a
time. Durability across a power loss needs `flush.messages=1` or a second replica.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping
from itertools import pairwise
from typing import Final

from trio_kafka.model import TopicPartition
from trio_kafka.testing.checkers.history import Acknowledged, History, Positioned, Read, Sent
from trio_kafka.testing.checkers.outcomes import outcomes_of
from trio_kafka.testing.checkers.violation import Log, Violation, extent, shown

Starts = Mapping[TopicPartition, int]
_NO_STARTS: Final[Starts] = {}


def lost_records(history: History, log: Log, starts: Starts = _NO_STARTS) -> list[Violation]:
    """Check that nothing is lost that was acknowledged or read.

    starts: first offset of a partition, below which records were deleted on purpose. Records of a
    transaction may be missing unless its commit was acknowledged.
    """
    violations = []
    outcomes = outcomes_of(history)
    values = {at: set(records.values()) for at, records in log.items()}
    missing: dict[tuple[TopicPartition, int], str] = {}
    for event in history.events:
        if isinstance(event, Acknowledged | Read):
            if isinstance(event, Acknowledged) and outcomes.may_be_lost(event.transaction):
                continue
            how = "acknowledged" if isinstance(event, Acknowledged) else f"read by {event.consumer}"
            records = log.get(event.at, {})
            if event.offset < 0:
                if event.record not in values.get(event.at, ()):
                    text = f"{shown(event.record)} was {how} in {event.at}; {extent(records)}"
                    violations.append(
                        Violation(
                            rule="lost", partition=event.at, offsets=(), text=f"{text}, without it"
                        )
                    )
            elif event.offset >= starts.get(event.at, 0) and event.offset not in records:
                text = f"{shown(event.record)} was {how} at offset {event.offset} of {event.at}"
                missing.setdefault((event.at, event.offset), f"{text}; {extent(records)}")
    violations += [
        Violation(rule="lost", partition=at, offsets=(offset,), text=text)
        for (at, offset), text in missing.items()
    ]
    return violations


def replaced_records(history: History, log: Log) -> list[Violation]:
    """Check that an offset has one record: to each producer, to each consumer, and in the log."""
    violations = []
    first_seen: dict[tuple[TopicPartition, int], tuple[Hashable, str]] = {}
    for event in history.events:
        if isinstance(event, Acknowledged | Read) and event.offset >= 0:
            how = "acknowledged" if isinstance(event, Acknowledged) else f"read by {event.consumer}"
            before, earlier = first_seen.setdefault((event.at, event.offset), (event.record, how))
            if before != event.record:
                text = f"offset {event.offset} of {event.at}: {shown(before)} was {earlier}"
                text = f"{text}, {shown(event.record)} was {how}"
                violations.append(
                    Violation(
                        rule="replaced", partition=event.at, offsets=(event.offset,), text=text
                    )
                )
    for (at, offset), (record, how) in first_seen.items():
        in_log = log.get(at, {}).get(offset, record)
        if in_log != record:
            text = f"offset {offset} of {at}: {shown(record)} was {how}"
            violations.append(
                Violation(
                    rule="replaced",
                    partition=at,
                    offsets=(offset,),
                    text=f"{text}, the log has {shown(in_log)}",
                )
            )
    return violations


def doubled_records(history: History, log: Log) -> list[Violation]:
    """Check that the log has a record of an idempotent producer at most as often as it was sent.

    Records of aborted transactions do not count as sent.
    """
    outcomes = outcomes_of(history)
    sent = Counter(
        (event.topic, event.record)
        for event in history.of(Sent)
        if event.idempotent and not outcomes.must_be_unseen(event.transaction)
    )
    others = {(event.topic, event.record) for event in history.of(Sent) if not event.idempotent}
    places: dict[tuple[str, Hashable], list[tuple[TopicPartition, int]]] = defaultdict(list)
    for at, records in log.items():
        for offset, record in records.items():
            if (at.topic, record) in sent and (at.topic, record) not in others:
                places[at.topic, record].append((at, offset))
    violations = []
    for key, copies in places.items():
        if len(copies) > sent[key]:
            times = "once" if sent[key] == 1 else f"{sent[key]} times"
            listed = ", ".join(f"offset {offset} of {at}" for at, offset in copies)
            text = f"{shown(key[1])} was sent {times} with idempotence, and is at {listed}"
            offsets = tuple(offset for _, offset in copies)
            violations.append(
                Violation(rule="doubled", partition=copies[0][0], offsets=offsets, text=text)
            )
    return violations


def disordered_records(history: History) -> list[Violation]:
    """Check that partitions keep each producer's order, and consumers read in order of offsets."""
    return [*_disordered_sends(history), *_disordered_reads(history)]


def _disordered_sends(history: History) -> list[Violation]:
    places: dict[tuple[str, str, Hashable, str | None], int] = {}
    for number, sent in enumerate(history.of(Sent)):
        places.setdefault((sent.producer, sent.topic, sent.record, sent.transaction), number)
    acknowledged: dict[tuple[str, TopicPartition], list[tuple[int, Acknowledged]]]
    acknowledged = defaultdict(list)
    for event in history.of(Acknowledged):
        place = places.get((event.producer, event.topic, event.record, event.transaction))
        if place is not None and event.offset >= 0:
            acknowledged[event.producer, event.at].append((place, event))
    violations = []
    for (producer, at), rows in acknowledged.items():
        rows.sort(key=lambda row: row[0])
        for (_, earlier), (_, later) in pairwise(rows):
            if later.offset <= earlier.offset:
                text = (
                    f"{producer} sent {shown(earlier.record)} before {shown(later.record)} to {at};"
                    f" their offsets are {earlier.offset} and {later.offset}"
                )
                violations.append(
                    Violation(
                        rule="order",
                        partition=at,
                        offsets=(earlier.offset, later.offset),
                        text=text,
                    )
                )
    return violations


def _disordered_reads(history: History) -> list[Violation]:
    violations = []
    last: dict[tuple[str, TopicPartition], int] = {}
    for event in history.events:
        if isinstance(event, Positioned):
            last[event.consumer, event.at] = event.offset - 1
        elif isinstance(event, Read):
            before = last.get((event.consumer, event.at), -1)
            if event.offset <= before:
                text = (
                    f"{event.consumer} read offset {event.offset} of {event.at}"
                    f" ({shown(event.record)}) after offset {before}"
                )
                violations.append(
                    Violation(
                        rule="order", partition=event.at, offsets=(before, event.offset), text=text
                    )
                )
            last[event.consumer, event.at] = event.offset
    return violations


def skipped_records(history: History, log: Log) -> list[Violation]:
    """Check that a consumer skips no record between its position and the last one that it read."""
    violations = []
    following: dict[tuple[str, TopicPartition], int] = {}
    ordered = {at: sorted(records) for at, records in log.items()}
    for event in history.events:
        if isinstance(event, Positioned):
            following[event.consumer, event.at] = event.offset
        elif isinstance(event, Read):
            expected = following.get((event.consumer, event.at), event.offset)
            offsets = ordered.get(event.at, [])
            place = bisect_left(offsets, expected)
            if place < len(offsets) and offsets[place] < event.offset:
                missed = offsets[place]
                text = (
                    f"{event.consumer} was at offset {expected} of {event.at}"
                    f" and read {event.offset} next; {shown(log[event.at][missed])} is at {missed}"
                )
                violations.append(
                    Violation(
                        rule="skipped",
                        partition=event.at,
                        offsets=(missed, event.offset),
                        text=text,
                    )
                )
            following[event.consumer, event.at] = event.offset + 1
    return violations
