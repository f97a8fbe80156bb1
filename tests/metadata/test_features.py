"""Features: levels, releases, versions of records."""

import pytest

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.features import (
    LATEST_LEVEL,
    bootstrap_features,
    check_level,
    default_level,
    has_controllers,
    has_directories,
    has_transactions,
    metadata_changed,
    needed_levels,
    record_version,
)
from trio_kafka.protocol.stored.metadata.brokers import (
    BrokerRegistrationChangeRecord,
    RegisterBrokerRecord,
)
from trio_kafka.protocol.stored.metadata.topics import PartitionRecord, TopicRecord


def test_new_cluster_has_the_feature_levels_of_kafka_4_4() -> None:
    assert [(record.name, record.feature_level) for record in bootstrap_features()] == [
        ("metadata.version", 33),
        ("eligible.leader.replicas.version", 1),
        ("group.version", 1),
        ("share.version", 2),
        ("streams.version", 1),
        ("transaction.version", 2),
    ]
    assert [record.name for record in bootstrap_features(20)] == ["metadata.version"]


@pytest.mark.parametrize(
    ("level", "partition", "broker"), [(7, 0, 1), (8, 0, 2), (17, 1, 3), (23, 2, 3), (30, 2, 4)]
)
def test_record_version_follows_the_metadata_version(
    level: int, partition: int, broker: int
) -> None:
    assert record_version(PartitionRecord(), level) == partition
    assert record_version(PartitionRecord(), level - 1) <= partition
    assert record_version(RegisterBrokerRecord(), level) == broker
    assert record_version(TopicRecord(), level) == 0


def test_broker_change_record_has_the_oldest_version_with_its_fields() -> None:
    change = BrokerRegistrationChangeRecord
    assert record_version(change(fenced=1), 33) == 0
    assert record_version(change(in_controlled_shutdown=1), 33) == 1
    assert record_version(change(log_dirs=[bytes(16)]), 33) == 2
    assert record_version(change(cordoned_log_dirs=[]), 33) == 3


def test_features_are_enabled_from_their_metadata_version_on() -> None:
    assert (has_transactions(12), has_transactions(13)) == (False, True)
    assert (has_controllers(14), has_controllers(15)) == (False, True)
    assert (has_directories(16), has_directories(17)) == (False, True)
    assert (default_level("kraft.version", 20), default_level("kraft.version", 21)) == (0, 1)
    assert (default_level("share.version", 30), default_level("share.version", 31)) == (1, 2)


def test_metadata_changed_is_true_at_the_same_levels_as_in_kafka() -> None:
    changed = [level for level in range(8, LATEST_LEVEL + 1) if metadata_changed(level - 1, level)]

    # Source: MetadataVersion of Apache Kafka 4.4.0, `didMetadataChange`.
    assert changed == [8, 11, 13, 14, 15, 17, 23, 30, 32, 33]
    assert metadata_changed(22, 29)
    assert not metadata_changed(23, 29)
    assert not metadata_changed(33, 33)


def test_eligible_leader_replicas_need_metadata_version_23() -> None:
    assert needed_levels("eligible.leader.replicas.version", 1) == {"metadata.version": 23}
    assert needed_levels("eligible.leader.replicas.version", 0) == {}
    assert needed_levels("share.version", 2) == {}


@pytest.mark.parametrize(("name", "level"), [("metadata.version", 34), ("no.version", 1)])
def test_unknown_feature_levels_are_refused(name: str, level: int) -> None:
    with pytest.raises(KafkaError) as caught:
        check_level(name, level)

    assert caught.value.code is ErrorCode.INVALID_UPDATE_VERSION
