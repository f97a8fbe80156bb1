"""Whole runs: against a model, with damage, with a small key map, in pieces."""

import errno
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import hypothesis
import pytest
from hypothesis import strategies as st
from trio.testing import MockClock

from tests.log.cleaner.kit import (
    Model,
    Seen,
    Transaction,
    cleaned_batches,
    cleaned_transactions,
    data_batch,
    header_of,
    malformed,
    marker_batch,
    new_directory,
    rules,
    run,
    seen,
    write_segments,
)
from tests.log.cleaner.test_batches import finish
from tests.log.kit import sample
from trio_kafka.log.cleaner.cleaning import clean
from trio_kafka.log.cleaner.job import (
    CleaningError,
    CleaningJob,
    Compute,
    LastRecord,
    Pause,
    in_worker,
)
from trio_kafka.log.cleaner.key_map import BYTES_PER_KEY
from trio_kafka.log.files.names import LOG, offset_file
from trio_kafka.log.index.aborted_transactions import AbortedTransaction
from trio_kafka.records.batch import ProducerFields, Record, iterate_headers
from trio_kafka.records.columnar.key_table import SLOT_BYTES
from trio_kafka.records.compression import Codec
from trio_kafka.records.header import CONTROL, HEADER_SIZE, LOG_APPEND_TIME, TRANSACTIONAL
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.in_memory import MemoryDisk
from trio_kafka.world.protocols import Directory
from trio_kafka.world.real.world import RealWorld

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
def test_runs_keep_the_batches_that_the_model_keeps(
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
        assert [seen(cleaned) for cleaned in batches] == want
        aborted = [
            transaction
            for transaction in log.aborted
            if any(
                batch.transaction
                and not batch.is_control
                and batch.transaction.marker == transaction.last_offset
                for batch in log.batches
            )
        ]
        log.aborted = cleaned_transactions(directory, job, done)
        assert log.aborted == aborted
        _check_stats(log, done, want, first_dirty)
        log.batches = want
        log.segments = {group.base_offset: [] for group in done.groups}
        for batch, expected in zip(batches, want, strict=True):
            base = max(base for base in log.segments if base <= expected.base_offset)
            log.segments[base].append(batch)
        log.segments.setdefault(log.end, [])
        first_dirty = done.end_offset


def _check_stats(log: Written, done, want: list[Seen], first_dirty: int) -> None:
    stats = done.stats
    assert stats.messages_written == sum(len(batch.records) for batch in want)
    assert stats.bytes_written == sum(group.size for group in done.groups)
    assert [base for group in done.groups for base in group.replaced] == sorted(
        base for base in log.segments if base < log.end
    )


def keyed(offset: int, *keys: int, value: bytes = b"1") -> bytes:
    return data_batch(offset, [Record(key=b"%d" % key, value=value) for key in keys])


def small_job(directory, segments: dict[int, list[bytes]], upper: int, **changes) -> CleaningJob:
    names = {"first_dirty_offset", "columnar", "aborted"}
    return CleaningJob(
        rules=rules(**{key: value for key, value in changes.items() if key not in names}),
        segments=write_segments(directory, segments),
        first_uncleanable_offset=upper,
        **{"first_dirty_offset": 0} | {key: changes[key] for key in names & changes.keys()},
    )


@pytest.mark.parametrize(
    ("columnar", "buffer_bytes"), [(False, 60 * BYTES_PER_KEY), (True, 60 * SLOT_BYTES)]
)
def test_several_runs_with_a_small_key_map_keep_the_latest_value_of_each_key(
    columnar: bool, buffer_bytes: int
) -> None:
    """Each run makes progress, and no latest value is lost on the way."""
    chance = random.Random(3)
    keys = [chance.randrange(300) for _ in range(1000)]
    segments = {
        base: [keyed(at, *keys[at : at + 10]) for at in range(base, base + 100, 10)]
        for base in range(0, 1000, 100)
    }
    latest = {key: offset for offset, key in enumerate(keys)}
    dirty, runs = 0, 0
    while dirty < 1000:
        directory = new_directory()
        job = small_job(
            directory,
            segments,
            1000,
            first_dirty_offset=dirty,
            columnar=columnar,
            dedupe_buffer_bytes=buffer_bytes,
            segment_bytes=3000,
        )

        done = run(directory, job)

        runs += 1
        assert done.end_offset > dirty
        assert 0 < done.stats.map_keys <= 54
        batches = cleaned_batches(directory, job, done)
        offsets = {record[0] for batch in batches for record in seen(batch).records}
        rest = {
            record[0]
            for base in segments
            if base
            not in [replaced_base for group in done.groups for replaced_base in group.replaced]
            for batch in segments[base]
            for record in seen(batch).records
        }
        assert set(latest.values()) <= offsets | rest
        for group in done.groups:
            for base in group.replaced:
                del segments[base]
            segments[group.base_offset] = []
        for batch in batches:
            base = seen(batch).base_offset
            segments[max(segment for segment in segments if segment <= base)].append(batch)
        dirty = done.end_offset

    assert runs > 5
    remaining = [
        record[0]
        for base in sorted(segments)
        for batch in segments[base]
        for record in seen(batch).records
    ]
    assert remaining == sorted(latest.values())


@pytest.mark.parametrize("columnar", PATHS)
def test_batch_with_more_keys_than_the_key_map_holds_is_compacted_in_several_runs(
    columnar: bool,
) -> None:
    """Keys 0 to 299 twice, in one batch each, with room for a part of them."""
    directory = new_directory()
    batches = [keyed(0, *range(300)), keyed(300, *range(300))]
    ends, first_dirty = [], 0
    while first_dirty < 600:
        assert len(ends) < 40
        job = small_job(
            directory,
            {0: batches},
            600,
            first_dirty_offset=first_dirty,
            columnar=columnar,
            dedupe_buffer_bytes=60 * (SLOT_BYTES if columnar else BYTES_PER_KEY),
        )
        done = run(directory, job)
        assert done.end_offset > first_dirty
        first_dirty = done.end_offset
        ends.append(first_dirty)
        batches = cleaned_batches(directory, job, done)

    assert len(ends) > 1
    records = [record for batch in batches for record in seen(batch).records]
    assert [record[0] for record in records] == list(range(300, 600))


def test_key_map_without_room_for_one_key_is_an_error_that_names_the_setting() -> None:
    directory = new_directory()
    job = small_job(directory, {0: [keyed(0, 1)]}, 1, dedupe_buffer_bytes=30)

    with pytest.raises(CleaningError, match=r"log\.cleaner\.dedupe\.buffer\.size"):
        run(directory, job)


@pytest.mark.parametrize("columnar", PATHS)
@pytest.mark.parametrize("dirty", [0, 6])
def test_malformed_batch_is_removed_after_delete_retention_ms(columnar: bool, dirty: int) -> None:
    directory = new_directory()
    bad = malformed(keyed(2, 1, 2))
    batches = [keyed(0, 1, 2), bad, keyed(4, 1, 3), keyed(6, 1)]
    stages = []
    for now_ms in (1000, 1999, 2000):
        job = small_job(
            directory,
            {0: batches},
            7,
            first_dirty_offset=dirty,
            columnar=columnar,
            now_ms=now_ms,
            delete_retention_ms=1000,
        )
        done = run(directory, job)
        assert done.end_offset == 7
        assert done.stats.unreadable_batches == 1
        batches = cleaned_batches(directory, job, done)
        offsets = [header_of(batch).base_offset for batch in batches]
        stages.append((offsets, done.groups[0]))

    (first, noticed), (second, waiting), (last, removed) = stages
    assert (first, second, last) == ([0, 2, 4, 6], [0, 2, 4, 6], [0, 4, 6])
    # Key 2 is only in the first batch: what cannot be read replaces nothing.
    assert [record[0] for batch in batches for record in seen(batch).records] == [1, 5, 6]
    for group in (noticed, waiting):
        assert list(group.reasons) == [2]
        assert "offsets 2 to 3" in group.reasons[2]
    assert [batch.removed for batch in removed.unreadable] == [True]
    assert removed.reasons == {}


def test_malformed_batch_keeps_its_bytes_behind_a_header_with_delete_horizon() -> None:
    directory = new_directory()
    bad = malformed(keyed(0, 1, 2))
    job = small_job(directory, {0: [bad, keyed(2, 1)]}, 3)

    kept = cleaned_batches(directory, job, run(directory, job))[0]

    assert kept[HEADER_SIZE:] == bad[HEADER_SIZE:]
    assert header_of(kept).delete_horizon is not None


@pytest.mark.parametrize("columnar", PATHS)
def test_batch_too_large_to_decompress_is_kept_without_delete_horizon(
    columnar: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trio_kafka.log.cleaner.batches.DECOMPRESSED_LIMIT", 200_000)
    monkeypatch.setattr("trio_kafka.log.cleaner.batches._SMALL_OUTPUT", 1000)
    directory = new_directory()
    record = Record(key=b"1", value=bytes(300_000))
    large = data_batch(0, [record], codec=Codec.ZSTD)
    job = small_job(directory, {0: [large, keyed(1, 1)]}, 2, columnar=columnar)

    done = run(directory, job)

    assert cleaned_batches(directory, job, done)[0] == large
    assert done.stats.unreadable_batches == 1
    assert done.groups[0].reasons == {}


def test_list_of_unreadable_batches_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trio_kafka.log.cleaner.filtering.MOST_UNREADABLE", 2)
    directory = new_directory()
    batches = [malformed(keyed(number, 1)) for number in range(5)]
    job = small_job(directory, {0: batches}, 5)

    done = run(directory, job)

    assert len(done.groups[0].unreadable) == 2
    assert done.stats.unreadable_batches == 5
    assert len(cleaned_batches(directory, job, done)) == 5


@pytest.mark.parametrize("columnar", PATHS)
def test_damage_in_either_pass_ends_the_run_with_file_and_position(columnar: bool) -> None:
    good, bad = keyed(0, 1, 2), bytearray(keyed(2, 1, 2))
    bad[-1] ^= 1
    for dirty in (0, 4):  # found in the first pass, or in the second
        disk = MemoryDisk()
        directory = disk.directory("/compacted-0", create=True)
        segments = {0: [good, bytes(bad)], 4: [keyed(4, 1)]}
        job = small_job(directory, segments, 5, first_dirty_offset=dirty, columnar=columnar)

        with pytest.raises(CleaningError) as caught:
            run(directory, job)

        assert caught.value.path == "/compacted-0/00000000000000000000.log"
        assert caught.value.position == len(good)
        assert disk.descriptors.files == 0


def test_control_batch_with_an_invalid_key_is_damage() -> None:
    record = Record(key=b"\0", value=b"")
    batch = data_batch(0, [record], attributes=CONTROL)
    for dirty in (0, 1):
        directory = new_directory()
        segments = {0: [batch], 1: [keyed(1, 1)]}
        with pytest.raises(CleaningError, match="control record"):
            run(directory, small_job(directory, segments, 2, first_dirty_offset=dirty))


def test_run_closes_its_files_whichever_system_call_fails() -> None:
    calls = 0
    while True:
        disk = MemoryDisk()
        directory = disk.directory("/compacted-0", create=True)
        job = small_job(directory, {0: [keyed(0, 1, 2)], 2: [keyed(2, 1, 2)]}, 4, segment_bytes=1)
        remaining_calls = calls

        def fault(name: str, call: str, target: str) -> OSError | None:
            nonlocal remaining_calls
            remaining_calls -= 1
            return OSError(errno.EIO, "broken") if remaining_calls < 0 else None

        disk.fault = fault
        try:
            run(directory, job)
        except OSError:
            assert disk.descriptors.files == 0
            calls += 1
            continue
        break

    assert calls > 15
    assert disk.descriptors.files == 0


def test_pauses_of_a_run_report_all_bytes_moved_and_rising_offsets() -> None:
    directory = new_directory()
    segments = {0: [keyed(at, *range(100)) for at in range(0, 20_000, 100)], 20_000: []}
    job = small_job(directory, segments, 20_000)
    steps = []

    done = finish(clean(directory, job), steps)

    pauses = [step for step in steps if isinstance(step, Pause)]
    stats = done.stats
    assert len(pauses) > 20
    # A batch at the end of a chunk is read again with the next one.
    least = stats.map_bytes_read + stats.bytes_read + stats.bytes_written
    assert least <= sum(pause.moved for pause in pauses) < 2 * least
    for indexing in (True, False):
        offsets = [pause.offset for pause in pauses if pause.indexing is indexing]
        assert len(set(offsets)) > 5
    assert stats.map_messages_read == stats.messages_read == 20_000


async def test_run_with_steps_in_threads_reads_segments_outside_the_page_cache(
    autojump_clock: MockClock,
) -> None:
    """Steps performed in threads, of a file that is not in the page cache."""
    world = simulated_world()
    directory = world.directory("/compacted-0", create=True)
    segments = {0: [keyed(0, 1, 2)], 2: [keyed(2, 1, 3)]}
    job = small_job(directory, segments, 4)
    for base in segments:
        file = directory.open(offset_file(base, LOG))
        file.chill()
        file.close()
    work = clean(directory, job)
    result, done = None, None
    while done is None:
        try:
            step = work.send(result)
        except StopIteration as stop:
            done = stop.value
            break
        result = None
        if isinstance(step, Compute):
            result = step.call()
        elif not isinstance(step, Pause):
            result = await step.in_thread()

    assert [seen(batch).base_offset for batch in cleaned_batches(directory, job, done)] == [0, 2]


@pytest.mark.slow
async def test_worker_process_performs_a_cleaning_job(tmp_path: Path) -> None:
    world = RealWorld()
    directory = world.directory(str(tmp_path / "compacted-0"), create=True)
    job = small_job(directory, {0: [keyed(0, 1, 2)], 2: [keyed(2, 1, 3)]}, 4, columnar=True)

    done = await world.run_in_process(clean_here, directory.path, job)

    assert [seen(batch).base_offset for batch in cleaned_batches(directory, job, done)] == [0, 2]


def clean_here(directory: Directory, job: CleaningJob) -> Iterator[None]:
    return in_worker(clean(directory, job))


@pytest.mark.parametrize("columnar", PATHS)
def test_log_compacted_by_apache_kafka_keeps_its_latest_values(columnar: bool) -> None:
    """Kafka's cleaner left an emptied batch, a tombstone and gaps."""
    files = sample("compacted")["compacted-0"]
    segments = {}
    for name, content in files.items():
        if name.endswith(LOG):
            segments[int(name.removesuffix(LOG))] = [
                content[position : position + header.size]
                for position, header in iterate_headers(content)
            ]
    before = [seen(batch) for base in sorted(segments) for batch in segments[base]]
    end = before[-1].last_offset + 1
    directory = new_directory()
    job = small_job(directory, segments, end, now_ms=1 << 45, columnar=columnar)

    done = run(directory, job)

    result = [seen(batch) for batch in cleaned_batches(directory, job, done)]
    assert result == Model(first_dirty=0, upper_bound=end, now_ms=1 << 45).clean(before)
    assert done.stats.invalid_messages == 0


@pytest.mark.parametrize("columnar", PATHS)
def test_large_batches_that_exceed_the_memory_limit_are_all_filtered(columnar: bool) -> None:
    """More bytes than are held at once."""
    directory = new_directory()
    value = bytes(1 << 20)
    batches = [
        data_batch(at, [Record(key=b"old", value=b"1"), Record(key=b"%d" % at, value=value)])
        for at in range(0, 20, 2)
    ]
    job = small_job(directory, {0: batches}, 20, columnar=columnar, io_buffer_bytes=32 << 20)

    done = run(directory, job)

    result = [seen(batch) for batch in cleaned_batches(directory, job, done)]
    want = [[at + 1] for at in range(0, 18, 2)] + [[18, 19]]
    assert [[record[0] for record in batch.records] for batch in result] == want


@pytest.mark.parametrize(
    ("columnar", "buffer_bytes"), [(False, 9 * BYTES_PER_KEY), (True, 9 * SLOT_BYTES)]
)
def test_a_run_covers_whole_batches_until_the_map_is_full(
    columnar: bool, buffer_bytes: int
) -> None:
    """Records behind them stay, even those that another run will remove."""
    directory = new_directory()
    fields = ProducerFields(2, 0)
    batches = [
        keyed(0, 1, 2),
        marker_batch(2, fields, commit=True, time=0),
        keyed(3, 1),
        marker_batch(4, fields, commit=True, time=0),
        data_batch(
            5, [Record(value=b"no key"), *(Record(key=b"%d" % key) for key in range(10, 19))]
        ),
        keyed(15, 1),
    ]
    job = small_job(
        directory, {0: batches}, 16, columnar=columnar, dedupe_buffer_bytes=buffer_bytes
    )

    done = run(directory, job)

    assert done.end_offset == 5
    result = [seen(batch) for batch in cleaned_batches(directory, job, done)]
    assert [len(batch.records) for batch in result] == [1, 1, 1, 1, 10, 1]
    assert done.stats.map_messages_read == 5
    assert done.stats.invalid_messages == 0


@pytest.mark.parametrize("columnar", PATHS)
def test_run_covers_missing_offsets_at_the_end_of_the_log(columnar: bool) -> None:
    directory = new_directory()
    job = small_job(directory, {0: [keyed(0, 1)], 50: []}, 100, columnar=columnar)

    done = run(directory, job)

    assert done.end_offset == 100
    assert [group.replaced for group in done.groups] == [(0, 50)]
    assert not done.groups[0].unchanged


def test_a_log_without_segments_needs_no_work() -> None:
    directory = new_directory()

    done = run(directory, small_job(directory, {}, 7, first_dirty_offset=7))

    assert (done.end_offset, done.groups) == (7, ())
    assert directory.names() == []
