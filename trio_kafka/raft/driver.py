"""Trio driver of the Raft machine for a quorum of one: the metadata log as a MetadataSource.

Group commit: one sync is in flight; records appended meanwhile wait for the next one. Everything
synced is committed. The machine supports several voters, this driver does not: it has no peers, and
`open_quorum` rejects such a quorum. An I/O error here stops the broker, because the broker cannot
run without its metadata log.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final, NoReturn

import trio

from trio_kafka.attributes import frozen
from trio_kafka.errors import ErrorCode, InvariantError, KafkaError, LogDirError
from trio_kafka.introspect.declared_waits import waits_for_work
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.log.durability.sync import close, sync
from trio_kafka.metadata.progress import Progress
from trio_kafka.metadata.source import Committed, MetadataRecord, NewBatch
from trio_kafka.model import NodeId
from trio_kafka.protocol.stored.control import LeaderChangeMessage
from trio_kafka.raft.batches import (
    MetadataBatch,
    encode_controls,
    leader_change,
    read_controls,
    read_metadata,
)
from trio_kafka.raft.core import Raft
from trio_kafka.raft.snapshot import BOOTSTRAP, SnapshotId, read_snapshot
from trio_kafka.raft.store import Store
from trio_kafka.raft.values import (
    Action,
    Appended,
    Commit,
    Event,
    Lead,
    Resign,
    Save,
    StepDown,
    Synced,
    Tick,
    Timeouts,
)
from trio_kafka.raft.voters import UnsupportedQuorumError, VoterSet
from trio_kafka.records.batch import BatchHeader

_RECENT: Final = 4096  # records cached for the loader, which is rarely behind: 3 MB
_AT_ONCE: Final = 64  # batches returned by one `read`
_SLICE: Final = 100  # records decoded between checkpoints: about 0.5 ms


class RaftDriver:
    """Metadata log of one node. Nothing is committed unless `run` is running."""

    def __init__(
        self,
        store: Store,
        voters: VoterSet,
        *,
        me: NodeId,
        bootstrap: Sequence[MetadataRecord],
        node: Node,
    ) -> None:
        self.store = store
        self.syncs = 0
        self._me = me
        self._voters = voters
        self._bootstrap = bootstrap
        self._node = node
        self._core = Raft(
            me=me,
            voters=voters.ids,
            election=store.election,
            history=store.history,
            timeouts=Timeouts(),
            jitter=store.world.random.random,
        )
        self._leading = -1
        self._elected = trio.Event()
        self._committed = Progress()
        # the same offset for committers, which see a lost epoch as an error
        self._acknowledged = Progress()
        self._unsynced = trio.Event()
        self._recent: deque[tuple[int, Committed]] = deque()  # with base offsets
        self._recent_records = 0  # number of records in `_recent`

    @property
    def voters(self) -> VoterSet:
        """Voters of the metadata log."""
        return self._voters

    # MetadataSource

    @property
    def epoch(self) -> int:
        return self._leading

    @property
    def next_offset(self) -> int:
        return self.store.log.end_offset

    @property
    def durable_offset(self) -> int:
        """Offset below which all records are synced."""
        return self.store.log.recovery_point

    @property
    def committed_offset(self) -> int:
        return self._committed.value

    @property
    def kraft_version(self) -> int:
        return self._voters.kraft_version

    async def elect(self) -> int:
        await self._elected.wait()
        return self._leading

    def batch(self, level: int) -> NewBatch:
        return _NewBatch(self, MetadataBatch(level, self.now_ms()))

    async def wait_writable(self) -> None:
        await self.store.log.writer.wait_unblocked()

    def append_batch(self, batch: MetadataBatch, epoch: int) -> int:
        """Write a batch and return its exclusive end. KafkaError: NOT_CONTROLLER,
        RECORD_LIST_TOO_LARGE.
        """
        if epoch != self._leading:
            reason = f"append for epoch {epoch}, but this node leads epoch {self._leading}"
            raise KafkaError(ErrorCode.NOT_CONTROLLER, reason)
        self._write(batch.seal(self.next_offset, epoch), batch.records)
        return self.next_offset

    async def wait_committed(self, offset: int) -> None:
        await self._acknowledged.wait(offset)

    async def read(self, offset: int) -> Sequence[Committed]:
        self._evict(offset)
        await self._committed.wait(offset + 1)
        snapshot = self.store.snapshot
        behind = snapshot is not None and offset < snapshot.offset
        if behind and (offset == 0 or offset < self.store.log.start_offset):
            return await self._read_snapshot()
        if not self._recent or offset < self._recent[0][0]:
            return await self._read_log(offset)
        committed = self._committed.value
        batches = [
            batch
            for base, batch in self._recent
            if offset <= base and batch.next_offset <= committed
        ]
        return batches[:_AT_ONCE]

    def bootstrap(self) -> Sequence[MetadataRecord]:
        return self._bootstrap

    # Lifecycle

    @waits_for_work("a record to write to the metadata log")
    async def run(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> NoReturn:
        """Lead and sync until cancelled; started when the existing log is committed.

        Raises LogDirError or OSError when the disk fails.
        """
        with self._node.child("raft-io", "task", self._figures):
            try:
                await self._perform(self._core.start(trio.current_time()))
                await self._sync()
                task_status.started()
                while True:
                    with trio.move_on_at(self._core.deadline):
                        await self._unsynced.wait()
                    if self._unsynced.is_set():
                        await self._sync()
                    if trio.current_time() >= self._core.deadline:
                        await self._step(Tick())
            except Exception as error:
                self._committed.fail(error)
                self._acknowledged.fail(error)
                raise
            finally:
                self._leading = -1

    async def _sync(self) -> None:
        self._unsynced = trio.Event()
        end = self.next_offset
        await sync(self.store.log)
        self.syncs += 1
        await self._step(Synced(end))

    async def close(self) -> None:
        """Make the log durable and close it, after `run` has ended. LogDirError."""
        await close(self.store.log)

    def abandon(self) -> None:
        """Close the files without syncing. Idempotent."""
        self.store.log.abandon()

    async def resign(self) -> None:
        """Resign leadership; records in flight may or may not be committed.

        Without another voter this node leads again, in a new epoch, after an election timeout.
        """
        await self._step(Resign())

    async def write_snapshot(
        self, at: SnapshotId, records: Iterable[MetadataRecord], *, level: int, timestamp_ms: int
    ) -> None:
        """Write a snapshot of the committed records below `at`."""
        if at.offset > self._committed.value:
            raise InvariantError(
                f"snapshot at {at.offset} is beyond the committed offset {self._committed.value}"
            )
        await self.store.write_snapshot(at, records, level=level, timestamp_ms=timestamp_ms)

    async def _step(self, event: Event) -> None:
        await self._perform(self._core.step(event, trio.current_time()))

    async def _perform(self, actions: Sequence[Action]) -> None:
        for action in actions:
            match action:
                case Save(election):
                    await self.store.save(election)
                case Lead(epoch):
                    await self.wait_writable()
                    if self._core.leads(epoch):  # else it resigned during one of these waits
                        self._lead(epoch)
                case Commit(high_watermark):
                    self.store.log.high_watermark = high_watermark
                    self._committed.advance(high_watermark)
                    self._acknowledged.advance(high_watermark)
                    self._evict()
                    if self._leading >= 0:
                        self._elected.set()
                case StepDown():
                    self._leading = -1
                    self._elected = trio.Event()
                    self._unsynced.set()  # wake `run`, whose deadline changed
                    lost = f"node {self._me} no longer leads the metadata log"
                    self._acknowledged.fail(KafkaError(ErrorCode.NOT_CONTROLLER, lost))
                case _:
                    raise InvariantError(f"a quorum of one cannot perform {action}")

    def _lead(self, epoch: int) -> None:
        self._leading = epoch
        self._acknowledged = Progress(self._committed.value)
        change = leader_change(self._me, self._voters)
        encoded = encode_controls(
            [change], base_offset=self.next_offset, epoch=epoch, timestamp_ms=self.now_ms()
        )
        self._write(encoded, (), self._me)

    def _write(
        self, encoded: bytes, records: Sequence[MetadataRecord], leader_id: NodeId | None = None
    ) -> None:
        try:
            header = self.store.append(encoded)
        except LogDirError:
            self._unsynced.set()  # `run` meets the failed log too, and its failure ends the broker
            raise
        self._recent.append((header.base_offset, _committed(header, records, leader_id=leader_id)))
        self._recent_records += len(records)
        actions = self._core.step(
            Appended(header.next_offset, header.leader_epoch), trio.current_time()
        )
        if actions:
            raise InvariantError(f"an append led to {actions}, want no action")
        self._unsynced.set()

    def _evict(self, below: int = 0) -> None:
        """Drop cached batches below `below`, and the oldest beyond the limit: the log has them."""
        recent = self._recent
        while recent and (recent[0][1].next_offset <= below or self._recent_records > _RECENT):
            _, evicted = recent.popleft()
            self._recent_records -= len(evicted.records)

    async def _read_snapshot(self) -> Sequence[Committed]:
        snapshot = await self.store.read_snapshot()
        if snapshot is None:
            raise InvariantError("the metadata log has lost its snapshot")
        return [
            Committed(
                next_offset=snapshot.id.offset,
                epoch=snapshot.id.epoch,
                timestamp_ms=snapshot.timestamp_ms,
                records=snapshot.records,
                size=snapshot.size,
                snapshot=True,
            )
        ]

    async def _read_log(self, offset: int) -> Sequence[Committed]:
        committed: list[Committed] = []
        content, batches = await self.store.read_batches(offset, self._committed.value)
        for position, header in batches[:_AT_ONCE]:
            leader_id = None
            records: list[MetadataRecord] = []
            if header.is_control:
                for control in read_controls(content, position, header):
                    if isinstance(control, LeaderChangeMessage):
                        leader_id = NodeId(control.leader_id)
            else:
                for record in read_metadata(content, position, header):
                    records.append(record)
                    if not len(records) % _SLICE:
                        await trio.lowlevel.checkpoint()
            committed.append(_committed(header, records, leader_id=leader_id))
            await trio.lowlevel.checkpoint()
        return committed

    def now_ms(self) -> int:
        """Return the time of the wall clock, for what is written and described."""
        return int(self.store.world.clock.wall() * 1000)

    def _figures(self) -> Figures:
        return {
            "role": self._core.role.value,
            "epoch": self._core.election.epoch,
            "high_watermark": self._committed.value,
            "end": self.next_offset,
            "syncs": self.syncs,
            "kept": self._recent_records,
        }


@frozen
class _NewBatch:
    """Batch that the leader fills and appends."""

    _driver: RaftDriver
    _batch: MetadataBatch

    def add(self, record: MetadataRecord) -> None:
        self._batch.add(record)

    def append(self, epoch: int) -> int:
        return self._driver.append_batch(self._batch, epoch)


def _committed(
    header: BatchHeader, records: Sequence[MetadataRecord], *, leader_id: NodeId | None
) -> Committed:
    return Committed(
        next_offset=header.next_offset,
        epoch=header.leader_epoch,
        timestamp_ms=header.max_timestamp,
        records=records,
        size=header.size,
        leader_id=leader_id,
    )


async def open_quorum(
    store: Store, *, node_id: NodeId, directory_id: bytes, node: Node
) -> RaftDriver:
    """Make the driver of an open store; on failure, abandon the store.

    directory_id: of the log directory's meta.properties.
    Raises UnsupportedQuorumError unless this node is the only voter.
    """
    try:
        voters = _voters_of(store)
        voters.check_alone(node_id, directory_id)
        bootstrap: Sequence[MetadataRecord] = ()
        if not store.log.end_offset and store.directory.exists(BOOTSTRAP.name):
            bootstrap = (await read_snapshot(store.directory, BOOTSTRAP)).records
    except BaseException:
        store.log.abandon()
        raise
    return RaftDriver(store, voters, me=node_id, bootstrap=bootstrap, node=node)


def _voters_of(store: Store) -> VoterSet:
    if store.voters is None:
        raise UnsupportedQuorumError(
            f"{store.directory.path} names no voters, want a whole {BOOTSTRAP.name} or a newer"
            " snapshot: restore one from a backup"
        )
    return store.voters
