"""Committed batches become images: the sync half of the loader.

`published` is what others have seen. A metadata transaction (KIP-868) is part of no image before
its end, and of none at all when it was aborted; nothing is given out in the middle of a batch.
"""

from collections.abc import Iterator
from typing import Final

from trio_kafka.errors import InvariantError
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.difference import difference
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.metadata.replay import replay
from trio_kafka.metadata.source import Committed, MetadataRecord
from trio_kafka.model import NodeId
from trio_kafka.protocol.stored.metadata.transactions import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
)

_SLICE: Final = 64  # records replayed without letting others run: below 1 ms


class ImageBuilder:
    """Takes batches in order, gives deltas and images."""

    def __init__(self, cluster_id: str) -> None:
        self.published = MetadataImage(cluster_id=cluster_id)
        self.offset = 0  # where to read on
        self._stable = self.published
        self._delta = MetadataDelta(self._stable)
        self._step = self._delta  # the one that led to `_stable`
        self._transaction: str | None = None  # the name of the one that is open
        self._epoch = 0
        self._timestamp_ms = -1
        self._leader_id: NodeId | None = None

    def take(self, batch: Committed) -> Iterator[None]:
        """Replay a batch; pauses every few records, when others may run.

        Raises InvariantError for records that cannot follow those before.
        """
        self._epoch = batch.epoch
        self._timestamp_ms = batch.timestamp_ms
        if batch.leader_id is not None:
            self._leader_id = batch.leader_id
        if batch.snapshot:
            # At the start that is what there is: then the delta is the difference, too.
            first = self.published.offset == 0
            nothing = MetadataImage(cluster_id=self.published.cluster_id)
            self._delta = MetadataDelta(self.published if first else nothing)
            self._transaction = None
        else:
            self.offset = batch.next_offset - len(batch.records)
        for count, record in enumerate(batch.records, 1):
            self._replay(record)
            self.offset += not batch.snapshot
            if not count % _SLICE:
                yield
        self.offset = batch.next_offset

    def finish(self) -> tuple[MetadataDelta, MetadataImage] | None:
        """What has changed since the last call, and the image now; None if nothing was taken."""
        if self._transaction is None:
            self._settle()
        before, image = self.published, self._stable
        if image.offset == before.offset:
            return None
        self.published = image
        return (self._step if self._step.image is before else difference(before, image)), image

    def _replay(self, record: MetadataRecord) -> None:
        match record:
            case BeginTransactionRecord():
                if self._transaction is not None:
                    raise InvariantError(f"transaction {record.name} within {self._transaction}")
                self._settle()
                self._transaction = record.name or "unnamed"
            case EndTransactionRecord() | AbortTransactionRecord():
                if self._transaction is None:
                    raise InvariantError(f"a transaction ends at {self.offset}, none was begun")
                self._transaction = None
                if isinstance(record, AbortTransactionRecord):
                    self._delta = MetadataDelta(self._stable)
            case _:
                replay(self._delta, record)

    def _settle(self) -> None:
        """Make an image of all that has been taken."""
        if self._delta.image.offset == self.offset:
            return
        self._step = self._delta
        self._stable = self._delta.apply(
            self.offset, self._epoch, self._timestamp_ms, self._leader_id
        )
        self._delta = MetadataDelta(self._stable)
