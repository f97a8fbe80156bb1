"""Records one by one and as vectors: the same survivors, and the same unreadable batches."""

import hypothesis
import pytest
from hypothesis import strategies as st

from tests.log.cleaner.kit import data_batch, header_of, rules
from tests.log.cleaner.test_batches import finish
from trio_kafka.errors import KafkaError
from trio_kafka.log.cleaner.batches import Batch
from trio_kafka.log.cleaner.columns import Columns
from trio_kafka.log.cleaner.job import Pause, Step
from trio_kafka.log.cleaner.key_map import BYTES_PER_KEY, KeyMap
from trio_kafka.log.cleaner.pace import Pace
from trio_kafka.log.cleaner.rows import Records, Rows
from trio_kafka.records.batch import Record
from trio_kafka.records.record_scan import scan_records

HEADERS = [("name", b"value"), ("", None)]
NUMBERS = st.sampled_from([0, 1, 63, 64, 100, 127, 128, 8191, 8192, 20_000])


@st.composite
def records(draw: st.DrawFn) -> list[Record]:
    """Records whose numbers take one, two and three bytes."""
    result = []
    offset = 5
    for _ in range(draw(st.integers(1, 5))):
        offset += draw(NUMBERS)
        result.append(
            Record(
                offset=offset,
                timestamp=draw(NUMBERS) * draw(st.sampled_from([1, 1 << 30])),
                key=draw(st.none() | NUMBERS.map(lambda size: b"k" * size)),
                value=draw(st.none() | NUMBERS.map(lambda size: b"v" * size)),
                headers=draw(st.sampled_from([[], HEADERS, HEADERS * 40])),
            )
        )
        offset += 1
    return result


def batch_of(data: bytes) -> Batch:
    return Batch(82, header_of(data), memoryview(data))


def rows(keys: int = 1100) -> Rows:
    return Rows(KeyMap(keys * BYTES_PER_KEY, 1.0), Pace())


def columns() -> Columns:
    return Columns.make(rules(), b"", Pace())


def results(strategy: Records, batches: list[Batch], start: int, last: int) -> object:
    count = finish(strategy.index(batches, start))
    result = finish(strategy.filter(batches, last, 0))
    return (
        count,
        strategy.keys,
        [segment._replace(unreadable=bool(segment.unreadable)) for segment in result],
    )


@hypothesis.given(
    first=records(), second=records(), start=st.integers(0, 300), last=st.integers(0, 40_000)
)
def test_rows_and_columns_keep_the_same_records(
    first: list[Record], second: list[Record], start: int, last: int
) -> None:
    for record in second:
        record.offset += first[-1].offset
    batches = [batch_of(data_batch(5, first)), batch_of(data_batch(first[-1].offset + 1, second))]

    assert results(rows(), batches, start, last) == results(columns(), batches, start, last)


@hypothesis.given(originals=records(), data=st.data())
def test_malformed_batch_stays_and_none_of_its_keys_enters_the_key_map(
    originals: list[Record], data: st.DataObject
) -> None:
    """Any byte may be false, or the end missing: what the codec refuses, both refuse."""
    encoded = bytearray(data_batch(5, originals))
    for _ in range(data.draw(st.integers(1, 2))):
        at = data.draw(st.integers(61, len(encoded) - 1))
        encoded[at] = data.draw(st.integers(0, 255))
    batch = batch_of(bytes(data_batch(5, originals)))
    batch = batch._replace(
        data=memoryview(bytes(encoded[: data.draw(st.integers(61, len(encoded)))]))
    )
    try:
        for _ in scan_records(bytes(batch.block), batch.header):
            pass
        sound = True
    except KafkaError:
        sound = False

    before = [Record(offset=number, key=record.key) for number, record in enumerate(originals)]
    batches = [batch_of(data_batch(0, before)), batch]

    by_rows = results(rows(), batches, 0, 1 << 40)

    assert by_rows == results(columns(), batches, 0, 1 << 40)
    _, keys, (_, survivors) = by_rows
    assert survivors.unreadable is not sound
    if not sound:
        assert (survivors.kept, survivors.content) == (len(originals), None)
        assert keys == len({record.key for record in originals if record.key is not None})


@pytest.mark.parametrize("make", [rows, columns])
def test_large_batch_is_indexed_and_filtered_with_pauses(make) -> None:
    batch = batch_of(data_batch(0, [Record(key=b"%d" % (number % 1000)) for number in range(3000)]))
    steps: list[Step] = []

    strategy = make()
    assert finish(strategy.index([batch], 0), steps) == (1, None)
    (result,) = finish(strategy.filter([batch], 2999, 0), steps)

    assert (result.kept, result.tombstones) == (1000, True)
    assert all(isinstance(step, Pause) for step in steps)
    if isinstance(strategy, Rows):
        assert len(steps) >= 8


@pytest.mark.parametrize("make", [rows, columns])
def test_key_map_is_freed_in_steps(make) -> None:
    strategy = make(50_000) if make is rows else make()
    batch = batch_of(data_batch(0, [Record(key=b"%d" % number) for number in range(40_000)]))
    finish(strategy.index([batch], 0))
    steps: list[Step] = []

    finish(strategy.release(), steps)

    assert len(steps) >= (5 if make is rows else 1)
    assert all(isinstance(step, Pause) for step in steps)


def test_key_map_takes_only_batches_whose_keys_fit() -> None:
    strategy = rows(300)
    batches = [
        batch_of(data_batch(at, [Record(key=b"%d" % (at + n)) for n in range(100)]))
        for at in range(0, 1000, 100)
    ]

    assert finish(strategy.index(batches, 0)) == (3, None)
    assert strategy.keys == 300
    assert strategy.utilization == 1.0
    assert finish(strategy.index(batches[:1], 0)) == (0, None)


@pytest.mark.parametrize("make", [rows, columns])
def test_batch_with_more_keys_than_the_map_holds_is_added_up_to_an_offset(make) -> None:
    strategy = Rows(KeyMap(100 * BYTES_PER_KEY, 1.0), Pace())
    if make is columns:
        strategy = Columns.make(rules(dedupe_buffer_bytes=113 * 24, load_factor=0.9), b"", Pace())
    batch = batch_of(data_batch(0, [Record(key=b"%d" % number) for number in range(1000)]))

    count, end = finish(strategy.index([batch], 0))

    assert (count, 90 <= end <= 101, strategy.keys) == (0, True, end)
    assert finish(strategy.index([batch], end)) == (0, None)


def test_batch_malformed_after_the_keys_that_fit_adds_no_keys() -> None:
    data = bytearray(data_batch(0, [Record(key=b"%d" % number) for number in range(1000)]))
    data[-1] = 3  # headers of the last record
    strategy = rows(100)

    assert finish(strategy.index([batch_of(bytes(data))], 0)) == (1, None)
    assert strategy.keys == 0


@pytest.mark.parametrize("make", [rows, columns])
def test_bytes_after_the_last_record_make_a_batch_unreadable(make) -> None:
    batch = batch_of(data_batch(0, [Record(key=b"a"), Record(key=b"b")]))
    batch = batch._replace(data=memoryview(bytes(batch.data) + b"\0"))
    strategy = make()

    assert finish(strategy.index([batch], 0)) == (1, None)
    (survivors,) = finish(strategy.filter([batch], 1, 0))

    assert strategy.keys == 0
    assert "1 bytes after" in survivors.unreadable


def test_number_of_keys_held_outside_the_map_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trio_kafka.log.cleaner.rows.MOST_KEYS", 700)
    batch = batch_of(data_batch(0, [Record(key=b"%d" % number) for number in range(1000)]))
    strategy = rows(5000)

    assert finish(strategy.index([batch], 0)) == (0, 700)
    assert strategy.keys == 700


@pytest.mark.parametrize("make", [rows, columns])
def test_filtering_stops_at_a_bounded_size_of_record_content(make) -> None:
    """Each batch loses a record, so its content must be held."""
    value = bytes(3 << 20)
    batches = [
        batch_of(data_batch(at, [Record(value=b""), Record(key=b"%d" % at, value=value)]))
        for at in range(0, 10, 2)
    ]
    strategy = make()
    finish(strategy.index(batches, 0))

    result = finish(strategy.filter(batches, 10, 0))

    assert len(result) == 2
    assert [batch.kept for batch in result] == [1, 1]
