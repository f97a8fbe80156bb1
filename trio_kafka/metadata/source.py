"""Where metadata records come from: an interface that hides who keeps them and how they agree.

A source is one log of batches of records. Whoever is elected may append, atomically a batch and
fenced by its epoch; everybody may read what is committed, from an offset on. Offsets count records,
also those that only the source knows.
"""

from collections.abc import Sequence
from typing import Protocol, TypeAlias

from trio_kafka.attributes import frozen
from trio_kafka.model import NodeId
from trio_kafka.protocol.stored.metadata.brokers import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    RegisterBrokerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from trio_kafka.protocol.stored.metadata.configs import ConfigRecord
from trio_kafka.protocol.stored.metadata.controllers import (
    RegisterControllerRecord,
    UnregisterControllerRecord,
)
from trio_kafka.protocol.stored.metadata.features import FeatureLevelRecord, ZkMigrationStateRecord
from trio_kafka.protocol.stored.metadata.producer_ids import ProducerIdsRecord
from trio_kafka.protocol.stored.metadata.quotas import ClientQuotaRecord
from trio_kafka.protocol.stored.metadata.security import (
    AccessControlEntryRecord,
    DelegationTokenRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from trio_kafka.protocol.stored.metadata.topics import (
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from trio_kafka.protocol.stored.metadata.transactions import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    NoOpRecord,
)

MetadataRecord: TypeAlias = (
    TopicRecord
    | PartitionRecord
    | PartitionChangeRecord
    | RemoveTopicRecord
    | ClearElrRecord
    | ConfigRecord
    | RegisterBrokerRecord
    | UnregisterBrokerRecord
    | BrokerRegistrationChangeRecord
    | FenceBrokerRecord
    | UnfenceBrokerRecord
    | RegisterControllerRecord
    | UnregisterControllerRecord
    | FeatureLevelRecord
    | ZkMigrationStateRecord
    | ProducerIdsRecord
    | ClientQuotaRecord
    | AccessControlEntryRecord
    | RemoveAccessControlEntryRecord
    | UserScramCredentialRecord
    | RemoveUserScramCredentialRecord
    | DelegationTokenRecord
    | RemoveDelegationTokenRecord
    | BeginTransactionRecord
    | EndTransactionRecord
    | AbortTransactionRecord
    | NoOpRecord
)


@frozen(kw_only=True)
class Committed:
    """Records that are committed together, and where.

    next_offset: exclusive end. size: bytes in the source, which tell when a snapshot is due.
    leader_id: set where this is the source's own word of who leads from here on; there are no
    records then.
    snapshot: this is all there is below `next_offset`, in place of what was read before.
    """

    next_offset: int
    epoch: int
    timestamp_ms: int
    records: Sequence[MetadataRecord]
    size: int = 0
    leader_id: NodeId | None = None
    snapshot: bool = False


class NewBatch(Protocol):
    """A batch in the making, of one source."""

    def add(self, record: MetadataRecord) -> None:
        """One more. Raises EncodeError for a record that the level cannot carry."""

    def append(self, epoch: int) -> int:
        """Add the whole to the log; the offset up to which to wait. No checkpoint.

        Raises KafkaError: NOT_CONTROLLER if `epoch` is not the present one,
        RECORD_LIST_TOO_LARGE.
        """


class MetadataSource(Protocol):
    """The log of metadata records."""

    @property
    def epoch(self) -> int:
        """In which this node may append, or -1 where it may not."""

    @property
    def next_offset(self) -> int:
        """The offset that the first record of the next `append` will have."""

    @property
    def committed_offset(self) -> int:
        """The exclusive end of what is committed."""

    @property
    def kraft_version(self) -> int:
        """The level of the feature that the log itself has (KIP-853); 0: not in use."""

    async def elect(self) -> int:
        """Wait until this node may append; the epoch in which it may."""

    def batch(self, level: int) -> NewBatch:
        """A batch to fill, written as metadata.version `level` has it."""

    def append(self, records: Sequence[MetadataRecord], epoch: int, level: int) -> int:
        """A batch of few records, filled and appended at once."""

    async def wait_committed(self, offset: int) -> None:
        """Wait until all below `offset` is committed.

        Raises KafkaError(NOT_CONTROLLER) if this node lost the epoch in which it appended: then
        nobody knows.
        """

    async def read(self, offset: int) -> Sequence[Committed]:
        """What is committed from `offset` on, at least one batch and at most a few: waits until
        there is.

        Where records below a snapshot are gone the snapshot comes in their place.
        """

    def bootstrap(self) -> Sequence[MetadataRecord]:
        """The records with which an empty log begins, as written when it was formatted."""
