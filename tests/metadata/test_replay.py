"""Effects of records."""

import pytest

from tests.metadata.kit import ID_1, ID_2, everything, image_of, partition
from trio_kafka.errors import InvariantError
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.image import MetadataImage, RecoveryState
from trio_kafka.metadata.replay import replay
from trio_kafka.protocol.schema import int32, record
from trio_kafka.protocol.stored.metadata.brokers import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from trio_kafka.protocol.stored.metadata.configs import ConfigRecord
from trio_kafka.protocol.stored.metadata.controllers import UnregisterControllerRecord
from trio_kafka.protocol.stored.metadata.features import FeatureLevelRecord
from trio_kafka.protocol.stored.metadata.frame import RECORDS
from trio_kafka.protocol.stored.metadata.quotas import ClientQuotaRecord
from trio_kafka.protocol.stored.metadata.security import (
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveUserScramCredentialRecord,
)
from trio_kafka.protocol.stored.metadata.topics import (
    ClearElrRecord,
    PartitionChangeRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from trio_kafka.protocol.structs.cluster import EntityData


def test_partition_change_sets_only_its_fields_and_counts_epochs() -> None:
    before = image_of(everything())

    isr = image_of([PartitionChangeRecord(partition_id=0, topic_id=ID_2, isr=[1])], before)
    led = image_of([PartitionChangeRecord(partition_id=0, topic_id=ID_2, leader=2)], isr)

    old, new = before.topics["b"].partitions[0], led.topics["b"].partitions[0]
    assert isr.topics["b"].partitions[0].leader_epoch == 0
    assert (new.leader, new.leader_epoch, new.partition_epoch) == (2, 1, 2)
    assert (new.isr, new.replicas) == ((1,), old.replicas)
    assert new.directories == (ID_1, ID_2)


def test_partition_change_sets_every_field() -> None:
    change = PartitionChangeRecord(
        partition_id=0,
        topic_id=ID_2,
        isr=[3],
        leader=3,
        replicas=[3, 4],
        removing_replicas=[5],
        adding_replicas=[6],
        leader_recovery_state=1,
        directories=[ID_2, ID_1],
        eligible_leader_replicas=[7],
        last_known_elr=[8],
    )

    new = image_of([change], image_of(everything())).topics["b"].partitions[0]

    assert (new.isr, new.leader, new.replicas) == ((3,), 3, (3, 4))
    assert (new.removing, new.adding) == ((5,), (6,))
    assert new.recovery_state is RecoveryState.RECOVERING
    assert (new.directories, new.elr, new.last_known_elr) == ((ID_2, ID_1), (7,), (8,))


def test_removed_topic_is_removed_with_its_settings() -> None:
    image = image_of([RemoveTopicRecord(topic_id=ID_1)], image_of(everything()))

    assert list(image.topics) == ["b"]
    assert list(image.topic_names) == [ID_2]
    assert (2, "a") not in image.configs


def test_a_topic_can_be_deleted_and_created_again_in_one_delta() -> None:
    again = bytes([9] * 16)
    records = [
        RemoveTopicRecord(topic_id=ID_1),
        TopicRecord(name="a", topic_id=again),
        partition(again),
        ConfigRecord(resource_type=2, resource_name="a", name="segment.ms", value="2"),
    ]

    image = image_of(records, image_of(everything()))

    assert image.topics["a"].id == again
    assert image.topic(ID_1) is None
    assert image.configs[2, "a"] == {"segment.ms": "2"}


@pytest.mark.parametrize("name", ["a", ""])
def test_clear_elr_removes_the_eligible_leader_replicas(name: str) -> None:
    image = image_of([ClearElrRecord(topic_name=name)], image_of(everything()))

    state = image.topics["a"].partitions[0]
    assert (state.elr, state.last_known_elr) == ((), ())


def test_broker_registration_is_changed_fenced_unfenced_and_removed() -> None:
    before = image_of(everything())

    change = BrokerRegistrationChangeRecord(
        broker_id=1, broker_epoch=11, fenced=-1, in_controlled_shutdown=1, log_dirs=[ID_2]
    )
    changed = image_of([change], before).brokers[1]
    unfenced = image_of([UnfenceBrokerRecord(id=1, epoch=11)], before)
    fenced = image_of([FenceBrokerRecord(id=1, epoch=11)], unfenced)
    gone = image_of(
        [UnregisterBrokerRecord(broker_id=1, broker_epoch=11), UnregisterControllerRecord(1)],
        before,
    )

    assert before.brokers[1].fenced
    assert (changed.fenced, changed.in_controlled_shutdown, changed.log_dirs) == (
        False,
        True,
        (ID_2,),
    )
    assert changed.cordoned_log_dirs == (ID_2,)
    assert not unfenced.brokers[1].fenced
    assert fenced.brokers[1].fenced
    assert (gone.brokers, gone.controllers) == ({}, {})


def test_settings_features_quotas_acls_and_credentials_can_be_removed() -> None:
    entity = [EntityData("client-id", "c"), EntityData("user", None)]
    image = image_of(
        [
            ConfigRecord(resource_type=2, resource_name="a", name="retention.ms", value=None),
            FeatureLevelRecord(name="metadata.version", feature_level=0),
            ClientQuotaRecord(entity=entity, key="k", remove=True),
            RemoveAccessControlEntryRecord(id=ID_1),
            RemoveUserScramCredentialRecord(name="u", mechanism=1),
            RemoveDelegationTokenRecord(token_id="t"),
        ],
        image_of(everything()),
    )

    assert not image.configs
    assert not image.features
    assert not image.quotas
    assert not image.acls
    assert not image.scram
    assert not image.tokens


@pytest.mark.parametrize(
    "wrong",
    [
        partition(bytes(16)),
        PartitionChangeRecord(partition_id=9, topic_id=ID_1),
        RemoveTopicRecord(topic_id=bytes(16)),
        TopicRecord(name="a", topic_id=bytes([7] * 16)),
        ClearElrRecord(topic_name="nobody"),
        FenceBrokerRecord(id=1, epoch=10),
        UnregisterBrokerRecord(broker_id=7, broker_epoch=0),
    ],
)
def test_record_that_contradicts_the_image_breaks_an_invariant(wrong) -> None:
    delta = MetadataDelta(image_of(everything()))

    with pytest.raises(InvariantError):
        replay(delta, wrong)


def test_unknown_record_type_is_named_in_the_error() -> None:
    @record(key=99, versions="0", flexible="0+")
    class StrangeRecord:
        number: int = int32()

    with pytest.raises(InvariantError, match=r"StrangeRecord \(key 99\)"):
        replay(MetadataDelta(MetadataImage()), StrangeRecord())


def test_every_record_type_of_the_metadata_log_can_be_replayed() -> None:
    from trio_kafka.metadata.replay import _REPLAY

    assert set(_REPLAY) == set(RECORDS.values())
