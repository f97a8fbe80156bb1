"""A batch in the making: what has room in it, and what it is in the end."""

from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.coordinators.groups.stored_records import GROUP_RECORDS
from trio_kafka.coordinators.shards.effects import CoordinatorRecord
from trio_kafka.coordinators.shards.open_batch import EncodedBatch
from trio_kafka.protocol.stored.groups.classic import OffsetCommitKey, OffsetCommitValue
from trio_kafka.records.batch import BatchBody, encode_batch, read_header, read_records

EVENTS = st.lists(
    st.tuples(
        st.lists(st.none() | st.integers(0, 300), min_size=1, max_size=4),
        st.integers(-5000, 5000),
    ),
    min_size=1,
    max_size=30,
)


def record(number: int, size: int | None) -> CoordinatorRecord:
    """size: of its metadata; None: a tombstone."""
    value = None if size is None else OffsetCommitValue(number, metadata="m" * size)
    return CoordinatorRecord(OffsetCommitKey("g", "t", number), value)


@given(EVENTS, st.integers(150, 3000))
def test_batch_contains_only_complete_events_within_its_size_limit(
    events: list[tuple[list[int | None], int]], room: int
) -> None:
    written: list[tuple[BatchBody, int]] = []
    batch = EncodedBatch(
        room, GROUP_RECORDS.encode, lambda batch, now_ms: written.append((batch, now_ms))
    )
    taken: list[CoordinatorRecord] = []
    times: list[int] = []
    for number, (sizes, delta) in enumerate(events):
        records = [record(number, size) for size in sizes]
        if batch.add(records, 1_000_000 + delta):
            taken += records
            times += [1_000_000 + delta] * len(records)
    assert len(batch) == len(taken)

    batch.append(7)
    ((body, at_ms),) = written
    assert at_ms == 7
    if taken:
        content = encode_batch(body)
        result = list(read_records(content, 0, read_header(content)))
        assert [(entry.key, entry.value) for entry in result] == [
            GROUP_RECORDS.encode(entry) for entry in taken
        ]
        assert [entry.timestamp for entry in result] == times
        assert len(content) <= room


def test_record_fits_exactly_up_to_the_size_limit() -> None:
    records = [record(1, 10)]
    sizes = [
        size
        for size in range(400)
        if EncodedBatch(size, GROUP_RECORDS.encode, print).add(records, 7)
    ]

    assert sizes == list(range(sizes[0], 400))
    key, value = GROUP_RECORDS.encode(records[0])
    assert sizes[0] == 61 + 20 + len(key) + len(value or b"")
