"""`__cluster_metadata-0` on the disk: the log, its snapshots, the saved election.

What may be removed is decided by snapshots alone: the newest two are kept, the log from the older
one of them on, so that a damaged newest one costs nothing. The start of the log at the next start
follows from their names.
"""

from collections.abc import Iterable
from functools import partial
from typing import Final

from trio_kafka.attributes import define
from trio_kafka.errors import InvariantError, KafkaError, LogDirError
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
from trio_kafka.log.recovery.segment_loader import Known
from trio_kafka.log.truncate import restart_at
from trio_kafka.metadata.source import MetadataRecord
from trio_kafka.model import METADATA_TOPIC_ID
from trio_kafka.protocol.stored.control import KRaftVersionRecord, VotersRecord
from trio_kafka.raft.batches import read_controls
from trio_kafka.raft.damage import MetadataJudge
from trio_kafka.raft.format import METADATA_PARTITION
from trio_kafka.raft.history import History
from trio_kafka.raft.quorum_state import load_election, save_election
from trio_kafka.raft.retention import Facts, Retention, clean
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
from trio_kafka.world.protocols import Directory
from trio_kafka.world.world import World

_READ: Final = 1 << 20
_KEPT: Final = Retention()
_logger: Final = get_logger(__name__)


@define
class Store:
    """Made by `open_store`. snapshot: the newest readable one; voters: as the log says last."""

    world: World
    directory: Directory
    log: Log
    snapshot: SnapshotId | None
    voters: VoterSet | None
    history: History
    election: Election
    facts: Facts
    timestamp_ms: int = -1
    size_since_snapshot: int = 0
    retention: Retention = _KEPT

    def append(self, batch: bytes) -> BatchHeader:
        """Write one batch at the end. KafkaError(RECORD_LIST_TOO_LARGE), LogDirError."""
        view = memoryview(batch)
        headers = [header for _, header in iterate_headers(view)]
        append_as_follower(self.log, view, headers)
        self.note(headers[-1])
        return headers[-1]

    def note(self, header: BatchHeader) -> None:
        """Count a batch that is in the log."""
        self.timestamp_ms = header.max_timestamp
        self.size_since_snapshot += header.size

    async def save(self, election: Election) -> None:
        """Make an election durable. OSError."""
        if self.voters is None:
            raise InvariantError("an election without voters")
        await save_election(self.directory, election, self.voters)

    async def read_batches(
        self, offset: int, end: int
    ) -> tuple[memoryview, list[tuple[int, BatchHeader]]]:
        """Some batches from the one with `offset` on, all below `end`: content, and where they are.

        At least one: InvariantError where there is none.
        """
        content = memoryview(await read_bytes(self.log, offset, _READ, end))
        found = list(iterate_headers(content))
        if not found:
            raise InvariantError(f"no batch at {offset} of the metadata log, it ends at {end}")
        return content, found

    async def read_snapshot(self) -> Snapshot | None:
        """The newest one that is whole, None without any."""
        return None if self.snapshot is None else await read_snapshot(self.directory, self.snapshot)

    async def write_snapshot(
        self, at: SnapshotId, records: Iterable[MetadataRecord], *, level: int, timestamp_ms: int
    ) -> None:
        """Write one. OSError, LogDirError."""
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

    async def clean(self) -> int | None:
        """Remove what is not kept; when (ms, wall time) more will go. OSError, LogDirError."""
        return await clean(self, int(self.world.clock.wall() * 1000))


async def open_store(
    world: World,
    root: Directory,
    config: LogConfig,
    static: VoterSet | None,
    retention: Retention = _KEPT,
    *,
    durable: int = 0,
) -> Store:
    """Open what formatting, or Kafka, wrote in a log directory; recover after a crash.

    static: the voters of a cluster with kraft.version 0, from the settings. retention: which
    snapshots are kept. durable: all records below this offset were synced.
    Raises LogDirError for a directory that is not formatted, or whose log cannot be trusted.
    """
    try:
        directory = root.directory(str(METADATA_PARTITION))
    except FileNotFoundError:
        raise LogDirError(root.path, f"no {METADATA_PARTITION}: format it first") from None
    for name in await names_in(directory):
        if name.endswith(PART):
            await directory.unlink(name)
    known = await snapshots_in(directory)
    # What lies below the oldest is superfluous, and may be gone in part: see `retention`.
    start = known[0].offset if known else 0
    judge = MetadataJudge(root.path, durable)
    told = Known(start_offset=start, high_watermark=start, judge=judge.judge)
    log = await when_free(
        partial(open_log, world, directory, METADATA_PARTITION, config, known=told)
    )
    try:
        store = await _read_store(world, directory, known, log, static)
        judge.check_end(store.log.end_offset)
    except BaseException:
        log.abandon()
        raise
    store.retention = retention
    return store


async def _read_store(
    world: World,
    directory: Directory,
    known: list[SnapshotId],
    log: Log,
    static: VoterSet | None,
) -> Store:
    """What an open log and its directory say."""
    snapshot = await _newest(directory, known, log)
    if snapshot is not None and log.end_offset < snapshot.id.offset:
        await restart_at(log, snapshot.id.offset)
    await sync(log)
    if not directory.exists(PARTITION_METADATA):
        content = encode_partition_metadata(METADATA_TOPIC_ID)
        await replace_file(directory, PARTITION_METADATA, content)
    store = Store(
        world,
        directory,
        log,
        snapshot=snapshot.id if snapshot else None,
        voters=(snapshot.voters if snapshot else None) or static,
        history=History(log.start_offset),
        election=Election(),
        facts=Facts(directory),
        timestamp_ms=snapshot.timestamp_ms if snapshot else -1,
    )
    await _scan(store, snapshot)
    store.election = await _load_election(directory, store.history.last_epoch)
    return store


async def _load_election(directory: Directory, floor: int) -> Election:
    """The saved election; the epoch of the log's end where the file is missing or behind.

    A lower epoch would be written behind a higher one: the next recovery would cut it as torn.
    """
    saved = await load_election(directory)
    if saved.epoch < floor:
        path, found = directory.path, saved.epoch
        _logger.warning("quorum-state is behind the log", path=path, epoch=found, log_epoch=floor)
    return saved.at_least(floor)


async def _newest(directory: Directory, known: list[SnapshotId], log: Log) -> Snapshot | None:
    """The newest whole snapshot; damaged ones are passed over if the log reaches back enough."""
    for at in reversed(known):
        try:
            return await read_snapshot(directory, at)
        except KafkaError as error:
            _logger.warning("damaged metadata snapshot", name=at.name, reason=str(error))
            if at.offset <= log.start_offset:
                break
    if log.start_offset > 0:
        reason = f"the metadata log begins at {log.start_offset}, without a whole snapshot"
        raise LogDirError(directory.path, reason)
    return None


async def _scan(store: Store, snapshot: Snapshot | None) -> None:
    """Walk the log once: epochs, voters, sizes."""
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
                kraft_version = _note_voters(store, kraft_version, content, position, header)


def _note_voters(
    store: Store, kraft_version: int, content: memoryview, position: int, header: BatchHeader
) -> int:
    """Take the voters in a control batch; the kraft.version from there on."""
    try:
        for control in read_controls(content, position, header):
            if isinstance(control, KRaftVersionRecord):
                kraft_version = control.k_raft_version
            elif isinstance(control, VotersRecord):
                store.voters = VoterSet(kraft_version, voters_of(control))
    except KafkaError as error:
        raise LogDirError(store.directory.path, str(error)) from error
    return kraft_version
