"""Storage of `__cluster_metadata-0`: the log, its snapshots and the saved election.

Snapshots alone decide what may be removed: at least the newest is kept, and the log from the oldest
kept snapshot on, so that a damaged newest snapshot loses nothing. At the next start, the snapshot
names determine the start of the log.
"""

from collections.abc import Iterable
from functools import partial
from typing import Final

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode, InvariantError, KafkaError, LogDirError
from trio_kafka.introspect.log import get_logger
from trio_kafka.log.append import append_as_follower
from trio_kafka.log.config import LogConfig
from trio_kafka.log.durability.sync import sync
from trio_kafka.log.files.checkpoints import replace_file
from trio_kafka.log.files.descriptor_retry import names_in, when_free
from trio_kafka.log.files.partition_metadata import NAME as PARTITION_METADATA
from trio_kafka.log.files.partition_metadata import encode as encode_partition_metadata
from trio_kafka.log.log import Log
from trio_kafka.log.read import read_bytes
from trio_kafka.log.recovery.partition import open_log
from trio_kafka.log.recovery.segment_loader import Recovery
from trio_kafka.log.truncate import restart_at
from trio_kafka.metadata.source import MetadataRecord
from trio_kafka.model import METADATA_TOPIC_ID
from trio_kafka.protocol.stored.control import KRaftVersionRecord, VotersRecord
from trio_kafka.raft.batches import Control, read_controls
from trio_kafka.raft.damage import MetadataJudge
from trio_kafka.raft.format import METADATA_PARTITION
from trio_kafka.raft.history import History
from trio_kafka.raft.quorum_state import load_election, load_voters, save_election
from trio_kafka.raft.retention import Retention, SnapshotCleaner
from trio_kafka.raft.snapshot import (
    PART,
    Snapshot,
    SnapshotId,
    read_snapshot,
    snapshots_in,
    write_snapshot,
)
from trio_kafka.raft.values import Election
from trio_kafka.raft.voters import VoterSet, voters_of
from trio_kafka.records.batch import BatchHeader, iterate_headers
from trio_kafka.records.header import read_header
from trio_kafka.world.protocols import Directory
from trio_kafka.world.world import World

LARGEST_BATCH: Final = 8 << 20  # KafkaRaftClient.MAX_BATCH_SIZE_BYTES
_READ: Final = 1 << 20
_DEFAULT_RETENTION: Final = Retention()
_logger: Final = get_logger(__name__)


@define
class Store:
    """Open metadata log; create it with `open_store`.

    snapshot: the newest readable one. voters: the latest ones in the log.
    """

    world: World
    directory: Directory
    log: Log
    snapshot: SnapshotId | None
    voters: VoterSet | None
    history: History
    election: Election
    cleaner: SnapshotCleaner
    timestamp_ms: int = -1
    size_since_snapshot: int = 0

    def append(self, batch: bytes) -> BatchHeader:
        """Append one batch, once `log.writer` does not block appends.

        KafkaError(RECORD_LIST_TOO_LARGE): above LARGEST_BATCH, or what a segment may have; nothing
        was written. LogDirError.
        """
        if len(batch) > LARGEST_BATCH:
            reason = f"metadata batch of {len(batch)} bytes, want at most {LARGEST_BATCH}"
            raise KafkaError(ErrorCode.RECORD_LIST_TOO_LARGE, reason)
        view = memoryview(batch)
        header = read_header(view, 0)
        append_as_follower(self.log, view, [header])
        self.note(header)
        return header

    def note(self, header: BatchHeader) -> None:
        """Count a batch that was appended."""
        self.timestamp_ms = header.max_timestamp
        self.size_since_snapshot += header.size

    async def save(self, election: Election) -> None:
        """Save an election durably. OSError."""
        if self.voters is None:
            raise InvariantError("an election needs voters, found none")
        await save_election(self.directory, election, self.voters)

    async def read_batches(
        self, offset: int, end: int
    ) -> tuple[memoryview, list[tuple[int, BatchHeader]]]:
        """Return some batches from `offset` on, all below `end`, as content and positions.

        At least one: InvariantError if there is none.
        """
        content = memoryview(await read_bytes(self.log, offset, _READ, end_offset=end))
        batches = list(iterate_headers(content))
        if not batches:
            raise InvariantError(f"no batch at {offset} of the metadata log, it ends at {end}")
        return content, batches

    async def read_snapshot(self) -> Snapshot | None:
        """Read the newest whole snapshot; None if there is none."""
        return None if self.snapshot is None else await read_snapshot(self.directory, self.snapshot)

    async def write_snapshot(
        self, at: SnapshotId, records: Iterable[MetadataRecord], *, level: int, timestamp_ms: int
    ) -> None:
        """Write a snapshot. OSError, LogDirError."""
        counted = self.size_since_snapshot
        await write_snapshot(
            self.directory,
            at,
            records,
            level=level,
            voters=self.voters,
            timestamp_ms=timestamp_ms,
            now_ms=int(self.world.clock.wall() * 1000),
        )
        self.snapshot = at
        self.size_since_snapshot -= counted

    async def remove_expired(self) -> int | None:
        """Remove expired snapshots and log; return the time (wall, ms) of the next expiry, if any.

        OSError, LogDirError.
        """
        now_ms = int(self.world.clock.wall() * 1000)
        return await self.cleaner.clean(self.log, self.snapshot, now_ms)


async def open_store(
    world: World,
    root: Directory,
    config: LogConfig,
    *,
    static: VoterSet | None = None,
    retention: Retention = _DEFAULT_RETENTION,
    durable: int = 0,
) -> Store:
    """Open the metadata log that formatting, or Kafka, created; recover after a crash.

    static: the voters of a cluster with kraft.version 0, from the settings; None: those that
        quorum-state names.
    retention: which snapshots are kept. durable: all records below this offset were synced.
    Raises LogDirError for a directory that is not formatted or whose log is damaged.
    """
    try:
        directory = root.directory(str(METADATA_PARTITION))
    except FileNotFoundError:
        raise LogDirError(
            root.path, f"it has no {METADATA_PARTITION}: format the directory first"
        ) from None
    for name in await names_in(directory):
        if name.endswith(PART):
            await directory.unlink(name)
    snapshots = await snapshots_in(directory)
    # Log below the oldest snapshot is superfluous and may be partly removed: see `retention`.
    start = snapshots[0].offset if snapshots else 0
    judge = MetadataJudge(root.path, durable)
    expected = Recovery(start_offset=start, high_watermark=start, judge=judge.judge)
    cleaner = SnapshotCleaner(directory, retention)
    log = await when_free(
        partial(open_log, world, directory, METADATA_PARTITION, config=config, recovery=expected)
    )
    try:
        store = await _read_store(
            world,
            directory,
            snapshots=snapshots,
            log=log,
            static=static,
            cleaner=cleaner,
        )
        judge.check_end(store.log.end_offset)
    except BaseException:
        log.abandon()
        raise
    return store


async def _read_store(
    world: World,
    directory: Directory,
    *,
    snapshots: list[SnapshotId],
    log: Log,
    static: VoterSet | None,
    cleaner: SnapshotCleaner,
) -> Store:
    """Build the store from an open log and its directory."""
    snapshot = await _newest(directory, snapshots, log)
    if snapshot is not None and log.end_offset < snapshot.id.offset:
        await restart_at(log, snapshot.id.offset)
    await sync(log)
    if not directory.exists(PARTITION_METADATA):
        content = encode_partition_metadata(METADATA_TOPIC_ID)
        await replace_file(directory, PARTITION_METADATA, content)
    voters = snapshot.voters if snapshot else None
    store = Store(
        world,
        directory,
        log,
        snapshot=snapshot.id if snapshot else None,
        voters=voters or static or await load_voters(directory),
        history=History(log.start_offset),
        election=Election(),
        cleaner=cleaner,
        timestamp_ms=snapshot.timestamp_ms if snapshot else -1,
    )
    await _scan(store, snapshot)
    store.election = await _load_election(directory, store.history.last_epoch)
    return store


async def _load_election(directory: Directory, floor: int) -> Election:
    """Load the saved election; use the log's last epoch if the file is missing or older.

    A record with a lower epoch than the last one would be truncated as torn by the next recovery.
    """
    saved = await load_election(directory)
    if saved.epoch < floor:
        path, epoch = directory.path, saved.epoch
        _logger.warning(
            "raised the epoch of quorum-state to that of the log",
            path=path,
            epoch=epoch,
            log_epoch=floor,
        )
    return saved.at_least(floor)


async def _newest(directory: Directory, snapshots: list[SnapshotId], log: Log) -> Snapshot | None:
    """Return the newest whole snapshot; skip damaged ones as far as the log reaches back."""
    for at in reversed(snapshots):
        try:
            return await read_snapshot(directory, at)
        except KafkaError as error:
            _logger.warning("skipped a damaged metadata snapshot", name=at.name, reason=str(error))
            if at.offset <= log.start_offset:
                break
    if log.start_offset > 0:
        reason = (
            f"the metadata log begins at {log.start_offset} and no whole snapshot covers its "
            "start: restore one from a backup"
        )
        raise LogDirError(directory.path, reason)
    return None


async def _scan(store: Store, snapshot: Snapshot | None) -> None:
    """Scan the log once for epochs, voters and sizes."""
    log = store.log
    if snapshot is not None and snapshot.id.offset == log.start_offset and snapshot.id.offset:
        store.history = History.of([(snapshot.id.epoch, 0)], log.start_offset)
    kraft_version = store.voters.kraft_version if store.voters else 0
    since = snapshot.id.offset if snapshot else 0
    offset = log.start_offset
    while offset < log.end_offset:
        content, batches = await store.read_batches(offset, log.end_offset)
        offset = batches[-1][1].next_offset
        for position, header in batches:
            store.history.append(header.next_offset, header.leader_epoch)
            if header.base_offset < since:
                continue
            store.note(header)
            if header.is_control:
                kraft_version = _note_voters(
                    store, read_controls(content, position, header), kraft_version
                )


def _note_voters(store: Store, controls: Iterable[Control], kraft_version: int) -> int:
    """Apply the voters of a control batch; return the kraft.version that is valid after it."""
    try:
        for control in controls:
            if isinstance(control, KRaftVersionRecord):
                kraft_version = control.k_raft_version
            elif isinstance(control, VotersRecord):
                store.voters = VoterSet(kraft_version, voters_of(control))
    except KafkaError as error:
        raise LogDirError(store.directory.path, str(error)) from error
    return kraft_version
