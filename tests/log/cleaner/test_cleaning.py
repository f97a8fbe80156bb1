"""Whole runs: against a model, with damage, with a small key map, in pieces."""

from collections.abc import Sequence

import hypothesis
from hypothesis import strategies as st

from tests.log.cleaner.kit import (
    Model,
    Seen,
    Transaction,
    cleaned_batches,
    cleaned_transactions,
    data_batch,
    marker_batch,
    new_directory,
    rules,
    run,
    seen,
    write_segments,
)
from trio_kafka.log.cleaner.job import CleaningJob, LastRecord
from trio_kafka.log.index.transaction import AbortedTransaction
from trio_kafka.records.batch import ProducerFields, Record
from trio_kafka.records.compression import Codec
from trio_kafka.records.header import LOG_APPEND_TIME, TRANSACTIONAL

PATHS = (False, True)
KEYS = st.sampled_from([None, b"", b"a", b"b", b"c", b"long" * 20, b"long" * 20 + b"x", b"k" * 300])
VALUES = st.sampled_from([None, None, b"", b"1", b"v" * 100])
TIMES = st.integers(0, 5000)
HEADERS = st.sampled_from([[], [], [("h", b"x"), ("", None)]])
RECORDS = st.lists(
    st.builds(Record, key=KEYS, value=VALUES, timestamp=TIMES, headers=HEADERS),
    min_size=1,
    max_size=6,
)
OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("data"), st.integers(-1, 3), RECORDS, st.sampled_from(Codec)),
        st.tuples(st.just("stamped"), st.integers(-1, 1), RECORDS, st.sampled_from(Codec)),
        st.tuples(st.just("end"), st.integers(2, 3), st.booleans(), TIMES),
        st.just(("roll",)),
    ),
    max_size=30,
)


class Written:
    """A log that is written by operations: producers 2 and 3 use transactions."""

    def __init__(self) -> None:
        self.end = 0
        self.segments: dict[int, list[bytes]] = {0: []}
        self.batches: list[Seen] = []
        self.open: dict[int, Transaction] = {}
        self.aborted: list[AbortedTransaction] = []
        self.transactions: dict[int, Transaction] = {}

    def _append(self, batch: bytes, transaction: Transaction | None) -> None:
        self.segments[max(self.segments)].append(batch)
        self.batches.append(seen(batch, transaction))
        self.end = self.batches[-1].last_offset + 1

    def perform(self, operations: Sequence[tuple]) -> None:
        for operation in operations:
            match operation:
                case ("data" | "stamped" as word, producer, records, codec):
                    attributes = LOG_APPEND_TIME if word == "stamped" else 0
                    transaction = None
                    if producer >= 2:
                        attributes |= TRANSACTIONAL
                        transaction = self.open.setdefault(
                            producer, Transaction(producer, self.end)
                        )
                    fields = ProducerFields(producer, 1, self.end) if producer >= 0 else ()
                    batch = data_batch(
                        self.end,
                        records,
                        codec=codec,
                        producer=ProducerFields(*fields),
                        attributes=attributes,
                    )
                    self._append(batch, transaction)
                case ("end", producer, commit, time):
                    self.finish(producer, commit=commit, time=time)
                case _:
                    self.roll()

    def finish(self, producer: int, *, commit: bool, time: int) -> None:
        transaction = self.open.pop(producer, None) or Transaction(producer, self.end)
        transaction.aborted, transaction.marker = not commit, self.end
        fields = ProducerFields(producer, 1, -1)
        if not commit and transaction.first_offset < self.end:
            self.aborted.append(
                AbortedTransaction(
                    producer_id=producer,
                    first_offset=transaction.first_offset,
                    last_offset=self.end,
                    last_stable_offset=self.end + 1,
                )
            )
        self._append(marker_batch(self.end, fields, commit=commit, time=time), transaction)

    def roll(self) -> None:
        self.segments.setdefault(self.end, [])


@hypothesis.given(
    first=OPERATIONS,
    second=OPERATIONS,
    more=st.lists(st.integers(0, 1500), min_size=1, max_size=3),
    active=st.dictionaries(st.integers(0, 3), st.integers(0, 60) | st.none(), max_size=3),
    segment_bytes=st.sampled_from([1, 300, 2000, 1 << 20]),
    columnar=st.sampled_from(PATHS),
)
def test_runs_leave_what_the_model_leaves(
    first: list[tuple],
    second: list[tuple],
    more: list[int],
    active: dict[int, int | None],
    segment_bytes: int,
    columnar: bool,
) -> None:
    """A log is written, cleaned several times, extended, and cleaned again."""
    log = Written()
    log.perform(first)
    now, first_dirty = 10_000, 0
    producers = {key: LastRecord(last, 1) for key, last in active.items()}
    for number, later in enumerate([*more, 1]):
        if number == len(more) - 1:
            log.perform(second)
            for producer in tuple(log.open):
                log.finish(producer, commit=producer % 2 == 0, time=0)
        elif log.open:
            for producer in tuple(log.open):
                log.finish(producer, commit=producer % 2 == 1, time=0)
        log.roll()
        now += later
        directory = new_directory()
        job = CleaningJob(
            rules=rules(now, active_producers=producers, segment_bytes=segment_bytes),
            segments=write_segments(
                directory, {base: log.segments[base] for base in log.segments if base < log.end}
            ),
            first_dirty_offset=first_dirty,
            first_uncleanable_offset=log.end,
            aborted=tuple(log.aborted),
            columnar=columnar,
        )

        done = run(directory, job)

        assert done.end_offset == log.end
        model = Model(first_dirty=first_dirty, upper_bound=log.end, now_ms=now, active=producers)
        want = model.clean(log.batches)
        batches = cleaned_batches(directory, job, done)
        assert [seen(one) for one in batches] == want
        log.aborted = cleaned_transactions(directory, job, done)
        _check_stats(log, done, want, first_dirty)
        log.batches = want
        log.segments = {group.base_offset: [] for group in done.groups}
        for batch, one in zip(batches, want, strict=True):
            base = max(base for base in log.segments if base <= one.base_offset)
            log.segments[base].append(batch)
        log.segments.setdefault(log.end, [])
        first_dirty = done.end_offset


def _check_stats(log: Written, done, want: list[Seen], first_dirty: int) -> None:
    stats = done.stats
    assert stats.messages_written == sum(len(one.records) for one in want)
    assert stats.bytes_written == sum(group.size for group in done.groups)
    assert [base for group in done.groups for base in group.replaced] == sorted(
        base for base in log.segments if base < log.end
    )
