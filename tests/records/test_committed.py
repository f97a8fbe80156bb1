"""Batches that a read_committed consumer gives to its application."""

from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.records.batch import ProducerFields, Record, encode_batch, read_records
from trio_kafka.records.committed import committed_batches
from trio_kafka.records.control import Marker, encode_marker
from trio_kafka.records.header import TRANSACTIONAL


def batch(offset: int, producer: int | None, count: int = 1) -> bytes:
    """Return a batch whose records have their offsets as values; producer None: no transaction."""
    records = [Record(value=b"%d" % n) for n in range(offset, offset + count)]
    if producer is None:
        return encode_batch(records, offset)
    fields = ProducerFields(producer, 0, 0)
    return encode_batch(records, offset, producer=fields, attributes=TRANSACTIONAL)


def marker(offset: int, producer: int, *, committed: bool) -> bytes:
    data, _ = encode_marker(
        Marker(committed=committed, coordinator_epoch=0),
        producer_id=producer,
        producer_epoch=0,
        timestamp=0,
    )
    data[:8] = offset.to_bytes(8, "big")
    return bytes(data)


def values(data: bytes, aborted: list[tuple[int, int]]) -> list[int]:
    return [
        int(record.value or b"")
        for position, header in committed_batches(data, aborted)
        for record in read_records(data, position, header)
    ]


def test_batches_of_aborted_transactions_and_control_batches_are_left_out() -> None:
    data = b"".join(
        [
            batch(0, 1),
            batch(1, 2, 2),
            batch(3, None),
            marker(4, 1, committed=False),
            batch(5, 1),
            marker(6, 2, committed=True),
            marker(7, 1, committed=True),
        ]
    )

    assert values(data, [(1, 0)]) == [1, 2, 3, 5]
    assert values(data, []) == [0, 1, 2, 3, 5]


def test_transaction_that_begins_within_a_batch_that_was_fetched_again_is_left_out() -> None:
    assert values(batch(0, 1, 3), [(1, 2)]) == []


@given(st.lists(st.tuples(st.integers(1, 3), st.sampled_from(["write", "commit", "abort"]))))
def test_each_producer_shows_exactly_the_records_of_its_committed_transactions(
    steps: list[tuple[int, str]],
) -> None:
    parts, aborted, expected = [], [], []
    pending: dict[int, list[int]] = {}
    for offset, (producer, step) in enumerate(steps):
        if step == "write":
            parts.append(batch(offset, producer))
            pending.setdefault(producer, []).append(offset)
        else:
            parts.append(marker(offset, producer, committed=step == "commit"))
            offsets = pending.pop(producer, [])
            if step == "commit":
                expected += offsets
            elif offsets:
                aborted.append((producer, offsets[0]))
    expected += [offset for offsets in pending.values() for offset in offsets]

    assert values(b"".join(parts), aborted) == sorted(expected)
