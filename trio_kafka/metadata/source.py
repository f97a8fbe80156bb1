"""Source of metadata records: an interface that hides how they are stored and agreed on.

A source is one log of batches of records. A node that is elected appends batches, each atomic and
fenced by its epoch. Every node reads committed records from an offset on. Every record counts in
offsets, also those that only the source itself uses.
"""

from collections.abc import Sequence
from typing import Protocol, TypeAlias

from trio_kafka.attributes import frozen
from trio_kafka.model import NodeId
from trio_kafka.protocol.stored.metadata import (
    brokers,
    configs,
    controllers,
    features,
    producer_ids,
    quotas,
    security,
    topics,
    transactions,
)

MetadataRecord: TypeAlias = (
    topics.TopicRecord
    | topics.PartitionRecord
    | topics.PartitionChangeRecord
    | topics.RemoveTopicRecord
    | topics.ClearElrRecord
    | configs.ConfigRecord
    | brokers.RegisterBrokerRecord
    | brokers.UnregisterBrokerRecord
    | brokers.BrokerRegistrationChangeRecord
    | brokers.FenceBrokerRecord
    | brokers.UnfenceBrokerRecord
    | controllers.RegisterControllerRecord
    | controllers.UnregisterControllerRecord
    | features.FeatureLevelRecord
    | features.ZkMigrationStateRecord
    | producer_ids.ProducerIdsRecord
    | quotas.ClientQuotaRecord
    | security.AccessControlEntryRecord
    | security.RemoveAccessControlEntryRecord
    | security.UserScramCredentialRecord
    | security.RemoveUserScramCredentialRecord
    | security.DelegationTokenRecord
    | security.RemoveDelegationTokenRecord
    | transactions.BeginTransactionRecord
    | transactions.EndTransactionRecord
    | transactions.AbortTransactionRecord
    | transactions.NoOpRecord
)


@frozen(kw_only=True)
class Committed:
    """Records that are committed together, and their position.

    next_offset: exclusive end. size: bytes in the source, by which snapshots are triggered.
    leader_id: the leader from here on; such a batch has no records.
    snapshot: the records are the whole state below `next_offset`, and replace earlier ones.
    """

    next_offset: int
    epoch: int
    timestamp_ms: int
    records: Sequence[MetadataRecord]
    size: int = 0
    leader_id: NodeId | None = None
    snapshot: bool = False


class NewBatch(Protocol):
    """Batch of one source that is being filled."""

    def add(self, record: MetadataRecord) -> None:
        """Add a record. Raises EncodeError for one that the level cannot carry."""

    def append(self, epoch: int) -> int:
        """Append the batch to the log, without a checkpoint; return its exclusive end.

        Await `MetadataSource.wait_writable` before. Raises KafkaError: NOT_CONTROLLER unless
        `epoch` is the current one, RECORD_LIST_TOO_LARGE.
        """


class MetadataSource(Protocol):
    """Log of metadata records."""

    @property
    def epoch(self) -> int:
        """Epoch in which this node may append; -1 if it may not."""

    @property
    def next_offset(self) -> int:
        """Offset of the first record of the next append."""

    @property
    def committed_offset(self) -> int:
        """Exclusive end of the committed records."""

    @property
    def kraft_version(self) -> int:
        """Level of the feature kraft.version (KIP-853); 0 means not in use."""

    async def elect(self) -> int:
        """Wait until this node may append; return its epoch."""

    def batch(self, level: int) -> NewBatch:
        """Return an empty batch, to be written as metadata.version `level` requires."""

    async def wait_writable(self) -> None:
        """Wait until a batch may be appended. Has no checkpoint if one may be appended now."""

    async def wait_committed(self, offset: int) -> None:
        """Wait until all records below `offset` are committed.

        Raises KafkaError(NOT_CONTROLLER) if this node lost the epoch in which it appended: the
        records may or may not be committed.
        """

    async def read(self, offset: int) -> Sequence[Committed]:
        """Wait for committed batches from `offset` on; return at least one and at most a few.

        A snapshot takes the place of records that are gone.
        """

    def bootstrap(self) -> Sequence[MetadataRecord]:
        """Return the records that formatting left for the start of an empty log."""
