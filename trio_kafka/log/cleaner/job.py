"""A cleaning job as plain data: its input, its result, and the steps of a run.

`cleaning.clean(directory, job)` is a generator, and this module is all that its caller must know.
It reads sealed files only and writes new ones under names of its own, so a run may stop at any
moment and leaves the log as it was. The caller syncs the new files and swaps them in.

The generator yields a step after about a millisecond of work, and is sent the result of the step.
Three kinds of steps exist, see `Step`. `in_worker` performs them in a worker process.
"""

from collections.abc import Callable, Generator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka.log.files.names import offset_file
from trio_kafka.log.files.operations import Operation
from trio_kafka.log.index.aborted_transactions import AbortedTransaction
from trio_kafka.model import TopicPartition

T = TypeVar("T")
CLEANED: Final = ".cleaned"
MOST_UNREADABLE: Final = 1000


@frozen
class LastRecord:
    """Last record of an active producer, which must stay known when its records are removed.

    last_data_offset: last offset of its last batch of data; None: it wrote only markers.
    """

    last_data_offset: int | None
    epoch: int


@frozen(kw_only=True)
class SealedFile:
    """A segment to clean: its base offset, and the sizes of its files in bytes."""

    base_offset: int
    size: int
    index_size: int
    time_index_size: int


@frozen(kw_only=True)
class CleaningRules:
    """Settings and state that decide which records stay.

    dedupe_buffer_bytes: memory of the key map of this run, of which `load_factor` is used.
    io_buffer_bytes: bytes read at once. A larger batch is read whole.
    segment_bytes, segment_index_bytes: bounds of the segments that are merged into one.
    active_producers: by producer id.
    """

    partition: TopicPartition
    now_ms: int
    delete_retention_ms: int
    dedupe_buffer_bytes: int
    load_factor: float
    io_buffer_bytes: int
    segment_bytes: int
    segment_index_bytes: int
    index_interval_bytes: int
    active_producers: Mapping[int, LastRecord] = field(factory=dict)


@frozen(kw_only=True)
class CleaningJob:
    """One run over a partition.

    segments: all segments below `first_uncleanable_offset`, from the first of the log on.
    first_uncleanable_offset: base offset of the segment at which cleaning must stop.
    aborted: all entries of the transaction indexes of the log, also those of later segments.
    suffix: added to the names of new files. It must end with ".cleaned", so that a start removes
        the files. A worker process needs a unique one, as it may outlive its broker.
    columnar: use numpy and pyarrow, which must be installed. For worker processes: importing them
        takes a third of a second, and a step up to 20 ms.
    salt: random bytes, with which collisions of hashed keys cannot be predicted.
    """

    rules: CleaningRules
    segments: tuple[SealedFile, ...]
    first_dirty_offset: int
    first_uncleanable_offset: int
    aborted: tuple[AbortedTransaction, ...] = ()
    suffix: str = CLEANED
    columnar: bool = False
    salt: bytes = b""

    def name(self, base_offset: int, suffix: str) -> str:
        """Return the name of a new file; suffix: one of `names.SEGMENT_FILES`."""
        return offset_file(base_offset, suffix) + self.suffix


@frozen(kw_only=True)
class CleaningStats:
    """Counts of a run, as Kafka's cleaner counts them.

    map_*: of the first pass, which collects the keys. map_utilization: used part of the map's
    capacity, 0 to 1. invalid_messages: records without a key, which are removed.
    unreadable_batches: see `UnreadableBatch`.
    """

    map_bytes_read: int
    map_messages_read: int
    map_keys: int
    map_utilization: float
    bytes_read: int
    messages_read: int
    bytes_written: int
    messages_written: int
    invalid_messages: int
    unreadable_batches: int = 0


@frozen(kw_only=True)
class UnreadableBatch:
    """Batch with a valid checksum whose records the run could not read.

    malformed: no client can read them either, so the batch goes after `delete.retention.ms`;
        otherwise they exceed the broker's memory, and stay.
    removed: its time is over.
    """

    base_offset: int
    last_offset: int
    reason: str
    malformed: bool
    removed: bool

    def __str__(self) -> str:
        return f"offsets {self.base_offset} to {self.last_offset}: {self.reason}"


@frozen(kw_only=True)
class CleanedGroup:
    """New segment that replaces one or more old ones.

    base_offset: that of the first replaced segment. replaced: base offsets, ascending.
    size: bytes of the new log file; 0: no batch remains. Its `.log`, `.index` and `.timeindex`
        exist in any case, `.txnindex` only with `transactions` > 0. None is synced.
    max_timestamp, max_timestamp_offset: as in `Segment`; -1 and the base offset without a batch.
    unchanged: True if one segment was copied as it was. The new files may then be discarded.
    unreadable: its first batches of this kind, MOST_UNREADABLE at most.
    """

    base_offset: int
    replaced: tuple[int, ...]
    size: int
    max_timestamp: int
    max_timestamp_offset: int
    transactions: int
    unchanged: bool
    unreadable: tuple[UnreadableBatch, ...] = ()

    @property
    def reasons(self) -> dict[int, str]:
        """Reasons why no client can read a batch, by base offset."""
        return {
            batch.base_offset: str(batch)
            for batch in self.unreadable
            if batch.malformed and not batch.removed
        }


@frozen(kw_only=True)
class CleaningResult:
    """Result of a run. end_offset: the next first dirty offset. groups: in the order of offsets."""

    end_offset: int
    groups: tuple[CleanedGroup, ...]
    stats: CleaningStats


class CleaningError(Exception):
    """Raised for a log that cannot be cleaned: damage, or a key map without room for a key.

    path, position: file and byte of the batch. Can be sent between processes.
    """

    def __init__(self, path: str, position: int, reason: str) -> None:
        super().__init__(path, position, reason)
        self.path = path
        self.position = position
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path} at position {self.position}: {self.reason}"


class Pause(NamedTuple):
    """Step that does nothing: other tasks may run, and the throttle may wait.

    moved: bytes read and written since the last one. offset: progress. indexing: True in the first
    pass, which reads from the first dirty offset; the second reads the whole log.
    """

    moved: int
    offset: int
    indexing: bool


class Compute(NamedTuple):
    """Step that calls a codec, which works without the interpreter's lock.

    Run `call` in a thread, and send its result or throw its error.
    """

    call: Callable[[], object]


# An Operation is a call to a file or a directory, see `operations`: perform it in a thread, or at
# once where it may block. Throw its error.
Step: TypeAlias = Pause | Compute | Operation
Work = Generator[Step, Any, T]
Cleaning: TypeAlias = Work[CleaningResult]


def due_s(moved: int, bytes_per_second: float | None) -> float | None:
    """Return how long after its start a run may have moved so many bytes; None: at any time."""
    return None if bytes_per_second is None else moved / bytes_per_second


def in_worker(
    cleaning: Cleaning, bytes_per_second: float | None = None
) -> Generator[float | None, None, CleaningResult]:
    """Perform the steps of a run at once, where reads may block: for `World.run_in_process`.

    bytes_per_second: rate of reads and writes; None: not limited.

    Simulated reads cannot block: there, perform the steps in the loop.
    """
    result: object = None
    failure: BaseException | None = None
    moved = 0
    while True:
        try:
            step = cleaning.throw(failure) if failure else cleaning.send(result)
        except StopIteration as stop:
            cleaned: CleaningResult = stop.value
            return cleaned
        result = failure = None
        if isinstance(step, Pause):
            moved += step.moved
            yield due_s(moved, bytes_per_second)
            continue
        try:
            result = step.call() if isinstance(step, Compute) else step.now()
        except Exception as error:  # noqa: BLE001 - the generator cleans up, and raises it
            failure = error
