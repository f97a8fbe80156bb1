"""Which snapshots of the metadata log go, and with each the log below the one after it.

The oldest go first, as long as log and snapshots together are larger than what is kept, and those
whose last record is too old. The newest that is whole stays whatever the settings say.

The name of a snapshot is gone for good before the first segment goes: names of segments may be lost
in any order, and a start that finds the oldest snapshot takes all below it for superfluous.
Source: metadata.max.retention.bytes, metadata.max.retention.ms; KIP-630.
"""

from functools import partial
from typing import TYPE_CHECKING, Final

from attrs import Factory

from trio_kafka.attributes import define, frozen
from trio_kafka.introspect.log import get_logger
from trio_kafka.log.files.descriptor_retry import sync_names, when_free, when_free_now
from trio_kafka.log.retention import delete_before
from trio_kafka.raft.snapshot import SnapshotId, read_timestamp, snapshots_in
from trio_kafka.world.protocols import Directory

if TYPE_CHECKING:
    from trio_kafka.raft.store import Store

_logger: Final = get_logger(__name__)


@frozen(kw_only=True)
class Retention:
    """How much is kept, and how long; -1: without a limit. Defaults are Kafka's."""

    max_bytes: int = 100 << 20
    max_ms: int = 604_800_000


@define
class Facts:
    """What is known of the snapshots in a directory; they do not change."""

    _directory: Directory
    _sizes: dict[SnapshotId, int] = Factory(dict)
    _timestamps: dict[SnapshotId, int] = Factory(dict)

    async def size(self, at: SnapshotId) -> int:
        """In bytes. OSError."""
        if at not in self._sizes:
            file = await when_free_now(lambda: self._directory.open(at.name))
            self._sizes[at] = file.size
            file.close()
        return self._sizes[at]

    async def timestamp_ms(self, at: SnapshotId) -> int:
        """Of the last record that it stands for. OSError."""
        if at not in self._timestamps:
            self._timestamps[at] = await read_timestamp(self._directory, at)
        return self._timestamps[at]

    def forget(self, at: SnapshotId) -> None:
        self._sizes.pop(at, None)
        self._timestamps.pop(at, None)


async def clean(store: "Store", now_ms: int) -> int | None:
    """Remove what is not kept. OSError, LogDirError.

    When the next one will be too old; None: not before there are more snapshots.
    """
    keep, facts = store.retention, store.facts
    found = await snapshots_in(store.directory)
    known = [at for at in found if store.snapshot and at <= store.snapshot]
    total = sum([await facts.size(at) for at in known])
    while len(known) > 1 and 0 <= keep.max_bytes < store.log.size + total:
        size = store.log.size + total
        total -= await facts.size(known[0])
        await _forget(store, known.pop(0), known[0], f"{size} bytes, {keep.max_bytes} are kept")
    while len(known) > 1 and keep.max_ms >= 0:
        timestamp_ms = await facts.timestamp_ms(known[0])
        if now_ms - timestamp_ms <= keep.max_ms:
            return timestamp_ms + keep.max_ms + 1
        age = f"its last record is {now_ms - timestamp_ms} ms old, {keep.max_ms} are kept"
        await _forget(store, known.pop(0), known[0], age)
    return None


async def _forget(store: "Store", oldest: SnapshotId, after: SnapshotId, reason: str) -> None:
    _logger.info("metadata snapshot removed", name=oldest.name, reason=reason)
    await store.directory.unlink(oldest.name)
    await sync_names(store.directory)
    store.facts.forget(oldest)
    checkpoint = partial(sync_names, store.directory)
    await when_free(partial(delete_before, store.log, after.offset, checkpoint))
