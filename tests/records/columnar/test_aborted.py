from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.records.columnar.kit import END, decoded, expected, flat
from tests.records.kit import encode_batch, encode_marker
from trio_kafka.records.batch import Record, iterate_headers, read_records
from trio_kafka.records.columnar.aborted import find_aborted
from trio_kafka.records.columnar.walk import gather_headers, walk
from trio_kafka.records.control import Marker, read_marker

TXN = (Path(__file__).parents[1] / "data" / "txn.log").read_bytes()

Event = tuple[str, int]  # data, plain, commit or abort; producer


def log_of(events: list[Event]) -> bytes:
    """One batch of one record for each event, at offsets 0, 1, ..."""
    log = b""
    for offset, (kind, producer) in enumerate(events):
        if kind in ("commit", "abort"):
            log += encode_marker(
                Marker(committed=kind == "commit", coordinator_epoch=0),
                producer_id=producer,
                producer_epoch=0,
                timestamp=0,
                base_offset=offset,
            )
        else:
            log += encode_batch(
                [Record()],
                offset,
                producer_id=producer,
                producer_epoch=0,
                base_sequence=0,
                transactional=kind == "data",
            )
    return log


def aborted_in(log: bytes) -> list[tuple[int, int]]:
    """Aborts in a log as a broker lists them: producer and first offset of each."""
    begun: dict[int, int] = {}
    result = []
    for position, header in iterate_headers(log):
        if header.is_control:
            (record,) = read_records(log, position, header)
            marker = read_marker(record)
            first = begun.pop(header.producer_id, None)
            if marker is not None and not marker.committed and first is not None:
                result.append((header.producer_id, first))
        elif header.is_transactional:
            begun.setdefault(header.producer_id, header.base_offset)
    return result


def kept(events: list[Event]) -> list[int]:
    """Offsets of what a reader of committed data sees: written by hand, from the end."""
    aborting: set[int] = set()
    result = []
    for offset, (kind, producer) in reversed(list(enumerate(events))):
        if kind == "abort":
            aborting.add(producer)
        elif kind == "commit":
            aborting.discard(producer)
        elif kind == "plain" or producer not in aborting:
            result.append(offset)
    return result[::-1]


def offsets(log: bytes, aborted: list[tuple[int, int]], start: int = 0) -> list[int]:
    return [row["offset"] for row in decoded(log, aborted=aborted, start=start)]


EVENTS = st.lists(
    st.tuples(st.sampled_from(["data", "data", "commit", "abort"]), st.integers(1, 3))
    | st.tuples(st.just("plain"), st.integers(4, 5)),
    max_size=25,
)


@pytest.mark.slow
@settings(deadline=None, max_examples=50)
@given(EVENTS, st.integers(0, 25), st.randoms())
def test_records_are_kept_unless_their_transaction_is_aborted(
    events: list[Event], start: int, order: Random
) -> None:
    log = log_of(events)
    aborted = aborted_in(log)
    order.shuffle(aborted)

    assert offsets(log, aborted) == kept(events)
    assert offsets(log, aborted, start) == [at for at in kept(events) if at >= start]


def test_an_abort_marker_ends_the_aborted_range_of_its_producer_only() -> None:
    log = log_of([("data", 1), ("data", 2), ("abort", 1), ("data", 1), ("data", 2), ("abort", 2)])

    assert offsets(log, [(1, 0), (2, 1)]) == [3]


def test_a_buffer_may_begin_within_an_aborted_transaction() -> None:
    log = log_of([("data", 1), ("data", 1), ("abort", 1), ("data", 1)])
    second = walk(memoryview(log), END).positions[1]

    assert offsets(log[second:], [(1, 0)]) == [3]


def test_a_commit_marker_does_not_end_an_aborted_range() -> None:
    # No broker writes this. Kafka's consumer looks for abort markers only.
    assert offsets(log_of([("data", 1), ("commit", 1), ("data", 1)]), [(1, 0)]) == []


def test_a_transaction_that_begins_later_is_not_aborted_yet() -> None:
    log = log_of([("data", 1), ("commit", 1), ("data", 1), ("abort", 1)])

    assert offsets(log, [(1, 2)]) == [0]


def test_records_outside_of_transactions_are_kept_when_their_producer_aborts() -> None:
    assert offsets(log_of([("data", 1), ("plain", 1), ("abort", 1)]), [(1, 0)]) == [1]


def test_nothing_is_skipped_without_aborted_transactions() -> None:
    log = log_of([("data", 1), ("abort", 1)])

    assert offsets(log, []) == [0]


def test_records_of_transactions_aborted_in_a_kafka_log_are_skipped() -> None:
    aborted = aborted_in(TXN)
    every = [row["offset"] for row in flat(expected(TXN))]

    result = offsets(TXN, aborted)

    assert aborted
    assert set(result) < set(every)
    assert result == [
        record.offset
        for position, header in iterate_headers(TXN)
        if not header.is_control
        for record in read_records(TXN, position, header)
        if not _is_aborted(record.offset, header.producer_id, header.is_transactional)
    ]


def _is_aborted(offset: int, producer: int, transactional: bool) -> bool:
    """True if the producer's next marker is one that aborts."""
    if not transactional:
        return False
    for position, header in iterate_headers(TXN):
        if header.is_control and header.producer_id == producer and header.base_offset > offset:
            (record,) = read_records(TXN, position, header)
            marker = read_marker(record)
            return marker is not None and not marker.committed
    return False


@pytest.mark.parametrize("key", [b"\0", b"\xff\xff\0\0", None])
def test_malformed_abort_marker_is_reported_with_its_position(key: bytes | None) -> None:
    log = log_of([("data", 1)]) + encode_batch(
        [Record(key=key)], 1, producer_id=1, producer_epoch=0, transactional=True, control=True
    )
    walked = walk(memoryview(log), END)

    result, error = find_aborted(
        memoryview(log),
        walked.positions,
        gather_headers(memoryview(log), walked.positions),
        aborted=[(1, 0)],
    )

    assert result.tolist() == [True, False]
    assert error is not None
    assert error.position == walked.positions[1]
