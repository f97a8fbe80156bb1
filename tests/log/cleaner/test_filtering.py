"""Kafka's rules one by one, each in a small log. `test_cleaning` has the model of all of them."""

import pytest

from tests.log.cleaner.kit import (
    Seen,
    cleaned_batches,
    cleaned_transactions,
    data_batch,
    header_of,
    marker_batch,
    new_directory,
    rules,
    run,
    seen,
    write_segments,
)
from trio_kafka.log.cleaner.job import CleaningJob, LastRecord
from trio_kafka.log.index.aborted_transactions import AbortedTransaction
from trio_kafka.records.batch import ProducerFields, Record
from trio_kafka.records.compression import Codec
from trio_kafka.records.header import HEADER_SIZE, TRANSACTIONAL

pytestmark = pytest.mark.parametrize("columnar", [False, True])

END = 100
ABORTED = AbortedTransaction(producer_id=7, first_offset=0, last_offset=2, last_stable_offset=3)


class Log:
    """Batches of one segment that is cleaned again and again."""

    def __init__(self, *batches: bytes, columnar: bool, **changes: object) -> None:
        self.batches = list(batches)
        self.aborted: list[AbortedTransaction] = []
        self.stats = None
        self.unchanged = False
        self._columnar = columnar
        self._changes = changes

    def clean(self, now_ms: int = 10_000, upper: int = END) -> list[Seen]:
        directory = new_directory()
        job = CleaningJob(
            rules=rules(now_ms, **self._changes),
            segments=write_segments(directory, {0: self.batches}),
            first_dirty_offset=0,
            first_uncleanable_offset=upper,
            aborted=tuple(self.aborted),
            columnar=self._columnar,
        )
        done = run(directory, job)
        self.batches = cleaned_batches(directory, job, done)
        self.aborted = cleaned_transactions(directory, job, done)
        self.stats = done.stats
        self.unchanged = done.groups[0].unchanged
        return [seen(batch) for batch in self.batches]


def data(offset: int, *pairs: tuple[bytes | None, bytes | None], **options: object) -> bytes:
    records = [Record(key=key, value=value, timestamp=offset) for key, value in pairs]
    return data_batch(offset, records, **options)


def in_transaction(offset: int, *pairs: tuple[bytes | None, bytes | None]) -> bytes:
    return data(offset, *pairs, producer=ProducerFields(7, 0, 0), attributes=TRANSACTIONAL)


def marker(offset: int, *, commit: bool) -> bytes:
    return marker_batch(offset, ProducerFields(7, 0), commit=commit, time=offset)


@pytest.mark.parametrize("codec", Codec)
def test_batch_that_keeps_all_records_is_copied_unchanged(columnar: bool, codec: Codec) -> None:
    batch = data(0, (b"a", b"1"), (b"b", b"2"), codec=codec)
    log = Log(batch, columnar=columnar)

    log.clean()

    assert log.batches == [batch]
    assert log.unchanged


def test_tombstone_removes_older_values_and_stays_until_its_delete_horizon(columnar: bool) -> None:
    log = Log(data(0, (b"a", b"1"), (b"b", b"1")), data(2, (b"a", None)), columnar=columnar)

    first = log.clean(now_ms=5000)
    assert [(segment.base_offset, segment.horizon) for segment in first] == [(0, None), (2, 6000)]
    assert [record[2] for batch in first for record in batch.records] == [b"b", b"a"]
    assert log.clean(now_ms=5999) == first
    assert log.unchanged
    assert log.clean(now_ms=6000) == first[:1]


def test_delete_horizon_of_a_tombstone_is_not_changed_by_later_runs(columnar: bool) -> None:
    log = Log(data(0, (b"a", None), (b"b", b"1")), columnar=columnar)
    log.clean(now_ms=5000)
    log.batches.append(data(2, (b"b", b"2")))

    result = log.clean(now_ms=5500)

    assert result[0].horizon == 6000
    assert [record[:3] for record in result[0].records] == [(0, 0, b"a")]


def test_records_without_a_key_are_removed_and_counted(columnar: bool) -> None:
    log = Log(data(0, (None, b"1"), (b"a", b"1"), (None, b"1")), columnar=columnar)

    (result,) = log.clean()

    assert [record[0] for record in result.records] == [1]
    assert log.stats.invalid_messages == 2
    assert log.stats.messages_read == 3
    assert log.stats.messages_written == 1


def test_aborted_records_are_removed_at_once_and_their_marker_at_its_delete_horizon(
    columnar: bool,
) -> None:
    log = Log(
        in_transaction(0, (b"a", b"bad"), (b"b", b"bad")),
        marker(2, commit=False),
        data(3, (b"a", b"1")),
        columnar=columnar,
    )
    log.aborted = [ABORTED]

    assert [batch.base_offset for batch in log.clean(5000)] == [2, 3]
    assert log.aborted == [ABORTED]
    result = log.clean(6000)
    assert [(segment.base_offset, segment.horizon) for segment in result] == [(2, 7000), (3, None)]
    assert log.aborted == []
    assert len(log.clean(6999)) == 2
    assert [batch.base_offset for batch in log.clean(7000)] == [3]


def test_aborted_record_does_not_replace_an_older_record_of_its_key(columnar: bool) -> None:
    log = Log(
        data(0, (b"a", b"old")),
        in_transaction(1, (b"a", b"bad")),
        marker(2, commit=False),
        columnar=columnar,
    )
    log.aborted = [
        AbortedTransaction(producer_id=7, first_offset=1, last_offset=2, last_stable_offset=3)
    ]

    assert log.clean()[0].records[0][3] == b"old"


def test_commit_marker_stays_while_a_batch_of_its_transaction_stays(columnar: bool) -> None:
    log = Log(in_transaction(0, (b"a", b"1")), marker(1, commit=True), columnar=columnar)

    assert log.clean(5000)[1].horizon is None
    log.batches.append(data(2, (b"a", b"2")))
    assert [batch.base_offset for batch in log.clean(5000)] == [1, 2]
    assert log.clean(5000)[0].horizon == 6000
    assert [batch.base_offset for batch in log.clean(6000)] == [2]


def test_last_batch_of_an_active_producer_stays_as_an_empty_batch(columnar: bool) -> None:
    log = Log(
        data(0, (b"a", b"1"), producer=ProducerFields(5, 1, 10)),
        data(1, (b"a", b"2"), producer=ProducerFields(5, 1, 11)),
        data(2, (b"a", b"3")),
        columnar=columnar,
        active_producers={5: LastRecord(1, 1)},
    )

    result = log.clean()

    assert [(batch.base_offset, batch.producer, len(batch.records)) for batch in result] == [
        (1, (5, 1, 11), 0),
        (2, (-1, -1, -1), 1),
    ]
    assert len(log.batches[0]) == HEADER_SIZE
    assert log.clean() == result
    assert log.unchanged


def test_last_marker_of_an_active_producer_without_data_stays(columnar: bool) -> None:
    log = Log(
        marker(0, commit=True),
        columnar=columnar,
        active_producers={7: LastRecord(None, 0)},
    )

    log.clean(5000)
    (result,) = log.clean(6000)
    assert result.records == ()
    assert log.clean(9000) == [result]
    log._changes["active_producers"] = {7: LastRecord(None, 1)}
    assert log.clean(9000) == []


def test_last_batch_below_the_end_of_a_run_stays_as_an_empty_batch(columnar: bool) -> None:
    log = Log(data(0, (b"a", b"1")), data(1, (None, b"x")), columnar=columnar)

    result = log.clean(upper=2)

    assert [(batch.last_offset, len(batch.records)) for batch in result] == [(0, 1), (1, 0)]


def test_log_whose_records_are_all_removed_becomes_an_empty_segment(columnar: bool) -> None:
    log = Log(data(0, (None, b"x")), columnar=columnar)

    assert log.clean() == []
    assert log.stats.bytes_written == 0
    assert not log.unchanged


def test_a_batch_that_loses_records_keeps_codec_and_timestamps(columnar: bool) -> None:
    records = [
        Record(key=b"%d" % (number % 40), value=b"v" * 100, timestamp=1000 - number)
        for number in range(80)
    ]
    batch = data_batch(0, records, codec=Codec.ZSTD)
    log = Log(batch, columnar=columnar)

    (result,) = log.clean()

    assert result.codec == Codec.ZSTD
    assert [record[:2] for record in result.records] == [(n, 1000 - n) for n in range(40, 80)]
    assert result.max_timestamp == 960
    assert header_of(log.batches[0]).last_offset == 79
