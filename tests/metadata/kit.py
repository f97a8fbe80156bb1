"""Records, and images made of them."""

from collections.abc import Iterable, Sequence

from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.metadata.replay import replay
from trio_kafka.metadata.source import Committed, MetadataRecord
from trio_kafka.protocol.stored.metadata.brokers import RegisterBrokerRecord
from trio_kafka.protocol.stored.metadata.configs import ConfigRecord
from trio_kafka.protocol.stored.metadata.controllers import RegisterControllerRecord
from trio_kafka.protocol.stored.metadata.features import FeatureLevelRecord
from trio_kafka.protocol.stored.metadata.producer_ids import ProducerIdsRecord
from trio_kafka.protocol.stored.metadata.quotas import ClientQuotaRecord
from trio_kafka.protocol.stored.metadata.security import (
    AccessControlEntryRecord,
    DelegationTokenRecord,
    UserScramCredentialRecord,
)
from trio_kafka.protocol.stored.metadata.topics import PartitionRecord, TopicRecord
from trio_kafka.protocol.structs.cluster import EntityData, NodeFeature, NodeListener

ID_1 = bytes([1] * 16)
ID_2 = bytes([2] * 16)


def partition(topic_id: bytes, number: int = 0, **changes: object) -> PartitionRecord:
    record = PartitionRecord(
        partition_id=number,
        topic_id=topic_id,
        replicas=[1, 2],
        isr=[1, 2],
        leader=1,
        leader_epoch=0,
        partition_epoch=0,
        directories=[ID_1, ID_2],
    )
    for name, value in changes.items():
        setattr(record, name, value)
    return record


def everything() -> list[MetadataRecord]:
    """A record of each kind that an image keeps."""
    return [
        FeatureLevelRecord(name="metadata.version", feature_level=33),
        RegisterControllerRecord(controller_id=1, incarnation_id=ID_1),
        RegisterBrokerRecord(
            broker_id=1,
            incarnation_id=ID_1,
            broker_epoch=11,
            end_points=[NodeListener(name="P", host="h", port=9092, security_protocol=0)],
            features=[NodeFeature("metadata.version", 7, 33)],
            rack="r",
            log_dirs=[ID_1],
            cordoned_log_dirs=[ID_2],
        ),
        TopicRecord(name="a", topic_id=ID_1),
        partition(ID_1, 0, eligible_leader_replicas=[2], last_known_elr=[1]),
        partition(ID_1, 1, removing_replicas=[2], adding_replicas=[1], leader_recovery_state=1),
        TopicRecord(name="b", topic_id=ID_2),
        partition(ID_2),
        ConfigRecord(resource_type=2, resource_name="a", name="retention.ms", value="1"),
        ClientQuotaRecord(
            entity=[EntityData("user", None), EntityData("client-id", "c")], key="k", value=1.5
        ),
        ProducerIdsRecord(broker_id=-1, next_producer_id=1000),
        UserScramCredentialRecord(name="u", mechanism=1, salt=b"s", iterations=4096),
        AccessControlEntryRecord(id=ID_1, resource_name="a", principal="User:u", host="*"),
        DelegationTokenRecord(owner="User:u", token_id="t"),
    ]


def replay_all(delta: MetadataDelta, records: Iterable[MetadataRecord | None]) -> None:
    """Apply records in order."""
    for record in records:
        if record is not None:
            replay(delta, record)


def image_of(
    records: Sequence[MetadataRecord], before: MetadataImage | None = None
) -> MetadataImage:
    """The image after these records."""
    old = before or MetadataImage(cluster_id="c")
    delta = MetadataDelta(old)
    replay_all(delta, records)
    return delta.apply(old.offset + len(records), 1, 5)


def committed(records: Sequence[MetadataRecord], base: int, **others: object) -> Committed:
    """A batch at an offset."""
    return Committed(
        next_offset=base + len(records), epoch=1, timestamp_ms=5, records=records, **others
    )
