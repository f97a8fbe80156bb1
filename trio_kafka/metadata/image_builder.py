"""Builder of metadata images from committed batches: the synchronous half of the loader.

`published` is the image that publishers have seen. The records of a metadata transaction (KIP-868)
enter an image when the transaction ends, and never if it is aborted. No image ends inside a batch.
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

_SLICE: Final = 64  # records in one step: less than 1 ms


class ImageBuilder:
    """Replays batches in order and returns deltas and images."""

    def __init__(self, cluster_id: str) -> None:
        self.published = MetadataImage(cluster_id=cluster_id)
        self.offset = 0  # of the next record to read
        self._stable = self.published
        self._delta = MetadataDelta(self._stable)
        self._step = self._delta  # the delta that led to `_stable`
        self._transaction: str | None = None  # name of the open transaction
        self._epoch = 0
        self._timestamp_ms = -1
        self._leader_id: NodeId | None = None

    def take(self, batch: Committed) -> Iterator[None]:
        """Replay a batch in steps.

        Raises InvariantError for a record that contradicts an earlier one.
        """
        self._epoch = batch.epoch
        self._timestamp_ms = batch.timestamp_ms
        if batch.leader_id is not None:
            self._leader_id = batch.leader_id
        if batch.snapshot:
            # The first snapshot is a delta to the empty image, which publishers can use.
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
        """Return the delta since the last call and the new image; None if there is none."""
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
                    raise InvariantError(f"a transaction ends at {self.offset}, but none was open")
                self._transaction = None
                if isinstance(record, AbortTransactionRecord):
                    self._delta = MetadataDelta(self._stable)
            case _:
                replay(self._delta, record)

    def _settle(self) -> None:
        """Make an image of all replayed records."""
        if self._delta.image.offset == self.offset:
            return
        self._step = self._delta
        self._stable = self._delta.apply(
            self.offset, self._epoch, self._timestamp_ms, leader_id=self._leader_id
        )
        self._delta = MetadataDelta(self._stable)
