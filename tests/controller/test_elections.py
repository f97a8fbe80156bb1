"""Elections that clients ask for. Source: KIP-460."""

import pytest
from attrs import evolve

from tests.controller.kit import broker, image_of
from tests.controller.test_leaders import NODE_1, NODE_2, after, state, with_topic
from trio_kafka.controller.elections import elect
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.image import MetadataImage, PartitionState, RecoveryState
from trio_kafka.model import NodeId, TopicPartition

AT = TopicPartition("t", 0)
NONE = NodeId(-1)


def image(*brokers: int, **changes) -> MetadataImage:
    """An image of a partition with the replicas 1 and 2, whose state is changed."""
    whole = with_topic(image_of(*map(broker, brokers)), [1, 2])
    topic = whole.topics["t"]
    changed = evolve(topic.partitions[0], **changes)
    return evolve(
        whole,
        topics=whole.topics.updated({"t": evolve(topic, partitions={0: changed})}),
    )


def elected(whole: MetadataImage, *, unclean: bool) -> PartitionState:
    return state(after(whole, elect(whole, AT, unclean=unclean).records))


def test_preferred_replica_becomes_the_leader() -> None:
    new = elected(image(1, 2, leader=NODE_2), unclean=False)

    assert (new.leader, new.isr, new.leader_epoch) == (1, (1, 2), 1)


def test_replica_in_sync_leads_before_one_that_may_miss_records() -> None:
    new = elected(image(1, 2, leader=NONE, isr=(NODE_2,)), unclean=True)

    assert (new.leader, new.isr, new.recovery_state) == (2, (2,), RecoveryState.RECOVERED)


def test_unclean_leader_recovers_alone() -> None:
    new = elected(
        image(1, leader=NONE, isr=(), elr=(NODE_2,), last_known_elr=(NODE_2,)), unclean=True
    )

    assert (new.leader, new.isr, new.elr, new.last_known_elr) == (1, (1,), (), ())
    assert new.recovery_state is RecoveryState.RECOVERING


@pytest.mark.parametrize(
    ("whole", "at", "unclean", "code"),
    [
        (image(1, 2), AT, False, ErrorCode.ELECTION_NOT_NEEDED),
        (image(1, 2, leader=NODE_2), AT, True, ErrorCode.ELECTION_NOT_NEEDED),
        (image(2, leader=NODE_2), AT, False, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE),
        (
            image(1, 2, leader=NODE_2, isr=(NODE_2,)),
            AT,
            False,
            ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        ),
        (image(3, leader=NONE), AT, True, ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE),
        (image(1), TopicPartition("t", 1), False, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (image(1), TopicPartition("u", 0), True, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_election_that_cannot_be_is_an_error(
    whole: MetadataImage, at: TopicPartition, unclean: bool, code: ErrorCode
) -> None:
    with pytest.raises(KafkaError) as caught:
        elect(whole, at, unclean=unclean)

    assert caught.value.code is code


def test_election_changes_nothing_of_the_image_before() -> None:
    before = image(1, 2, leader=NODE_2)
    elected(before, unclean=False)

    assert state(before).leader == NODE_2
    assert NODE_1 in state(before).isr
