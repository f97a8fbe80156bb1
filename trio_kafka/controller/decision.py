"""Decision of the controller: a result and the records that make it true, and what it reads."""

from collections.abc import Iterable
from typing import Generic, TypeVar

from trio_kafka.attributes import frozen
from trio_kafka.metadata.source import MetadataRecord

T = TypeVar("T")


@frozen(kw_only=True)
class ControllerSettings:
    """Settings of brokers that decisions read, with the names and defaults of Kafka."""

    num_partitions: int = 1
    default_replication_factor: int = 1
    min_insync_replicas: int = 1
    delete_topic_enable: bool = True
    broker_session_timeout_ms: int = 9_000
    delegation_token_max_lifetime_ms: int = 604_800_000
    delegation_token_expiry_time_ms: int = 86_400_000


@frozen
class Decision(Generic[T]):
    """Result of a decision, and its records. Without records nothing has to change.

    records: iterated once, and not at all if the request only validates. None instead of a record
        means that much was searched without a change, and that other tasks may run.
    """

    result: T
    records: Iterable[MetadataRecord | None] = ()
