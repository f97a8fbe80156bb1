"""Leaders when brokers go and come: as in Kafka's own log of a stop and a start."""

from attrs import evolve

from tests.controller.kit import broker, image_of
from tests.metadata.kit import replay_all
from trio_kafka.controller.configs import MIN_INSYNC_REPLICAS
from trio_kafka.controller.decision import ControllerSettings
from trio_kafka.controller.leaders import arrive, leave
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.image import ConfigResourceType, MetadataImage, PartitionState
from trio_kafka.model import NodeId, TopicId
from trio_kafka.protocol.stored.metadata.configs import ConfigRecord
from trio_kafka.protocol.stored.metadata.topics import PartitionRecord, TopicRecord

ID = TopicId(bytes([1] * 16))
NODE_1, NODE_2 = NodeId(1), NodeId(2)


def with_topic(image: MetadataImage, replicas: list[int]) -> MetadataImage:
    record = PartitionRecord(
        partition_id=0, topic_id=ID, replicas=replicas, isr=replicas, leader=replicas[0]
    )
    record.leader_epoch = record.partition_epoch = 0
    return after(image, [TopicRecord(name="t", topic_id=ID), record])


def after(image: MetadataImage, records) -> MetadataImage:
    delta = MetadataDelta(image)
    replay_all(delta, list(records))
    return delta.apply(image.offset + 1, 1, 1)


def state(image: MetadataImage) -> PartitionState:
    return image.topics["t"].partitions[0]


def test_the_last_replica_leaves_the_isr_but_stays_in_the_elr_and_leads_again_on_return() -> None:
    image = with_topic(image_of(broker(1)), [1])

    gone = after(image, leave(image, NODE_1, ControllerSettings()))
    back = after(gone, arrive(gone, NODE_1))

    fenced, led = state(gone), state(back)
    assert (fenced.isr, fenced.leader, fenced.elr, fenced.last_known_elr) == ((), -1, (1,), (1,))
    assert (fenced.leader_epoch, fenced.partition_epoch) == (1, 1)
    assert (led.isr, led.leader, led.elr, led.last_known_elr) == ((1,), 1, (), ())
    assert (led.leader_epoch, led.partition_epoch) == (2, 2)


def test_the_last_replica_stays_in_the_isr_when_elr_is_disabled() -> None:
    image = with_topic(image_of(broker(1), elr=0), [1])

    gone = after(image, leave(image, NODE_1, ControllerSettings()))
    back = after(gone, arrive(gone, NODE_1))

    assert (state(gone).isr, state(gone).leader, state(gone).elr) == ((1,), -1, ())
    assert state(back).leader == 1


def test_another_in_sync_replica_becomes_leader_when_the_leader_leaves() -> None:
    image = with_topic(image_of(broker(1), broker(2)), [1, 2])

    gone = after(image, leave(image, NODE_1, ControllerSettings()))

    assert (state(gone).isr, state(gone).leader, state(gone).elr) == ((2,), 2, ())


def test_a_replica_leaving_an_isr_below_the_minimum_joins_the_elr() -> None:
    image = with_topic(image_of(broker(1), broker(2)), [1, 2])

    gone = after(image, leave(image, NODE_1, ControllerSettings(min_insync_replicas=2)))

    assert (state(gone).isr, state(gone).elr) == ((2,), (1,))


def test_the_effective_min_isr_of_a_partition_depends_on_its_own_replicas() -> None:
    image = with_topic(image_of(broker(1), broker(2), broker(3)), [3])
    wide = PartitionRecord(partition_id=1, topic_id=ID, replicas=[1, 2, 3], isr=[1, 2], leader=1)
    wide.leader_epoch = wide.partition_epoch = 0
    minimum = ConfigRecord(
        resource_type=ConfigResourceType.TOPIC,
        resource_name="t",
        name=MIN_INSYNC_REPLICAS,
        value="2",
    )
    image = after(image, [wide, minimum])

    gone = after(image, leave(image, NODE_1, ControllerSettings()))

    partition = gone.topics["t"].partitions[1]
    assert (partition.isr, partition.leader, partition.elr) == ((2,), 2, (1,))


def test_a_fenced_replica_is_not_elected() -> None:
    image = with_topic(image_of(broker(1), broker(2)), [1, 2])
    image = evolve(image, brokers={NODE_1: broker(1), NODE_2: broker(2, active=False)})

    gone = after(image, leave(image, NODE_1, ControllerSettings()))

    assert state(gone).leader == -1


def test_a_broker_without_replicas_leaving_or_returning_changes_no_partition() -> None:
    image = with_topic(image_of(broker(1), broker(2)), [1])

    assert not list(leave(image, NODE_2, ControllerSettings()))
    assert not list(arrive(image, NODE_2))


def test_unchanged_partitions_are_scanned_in_steps() -> None:
    image = image_of(broker(1), broker(2))
    records = [
        PartitionRecord(partition_id=number, topic_id=ID, replicas=[1], isr=[1], leader=1)
        for number in range(3500)
    ]
    image = after(image, [TopicRecord(name="t", topic_id=ID), *records])

    assert list(leave(image, NODE_2, ControllerSettings())) == [None] * 3
    assert list(arrive(image, NODE_2)) == [None] * 3
