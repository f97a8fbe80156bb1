from trio_kafka.model import Endpoint, TopicPartition
from trio_kafka.protocol.messages.k03_metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from trio_kafka_spark.client.metadata import Metadata

TP = TopicPartition("t", 0)
NOW = 1e12  # later than any test runs: never old


def answer(error: int = 0, topic_error: int = 0, leader: int = 1) -> MetadataResponse:
    partition = MetadataResponsePartition(error, 0, leader, 7)
    return MetadataResponse(
        brokers=[MetadataResponseBroker(1, "a", 1), MetadataResponseBroker(2, "b", 2)],
        topics=[MetadataResponseTopic(topic_error, "t", b"i" * 16, False, [partition])],
    )


def test_a_known_partition_has_the_address_and_epoch_of_its_leader() -> None:
    metadata = Metadata()
    metadata.learn(answer(leader=2), NOW)

    leader = metadata.leader_of(TP, 1000)

    assert leader is not None
    assert (leader.endpoint, leader.epoch, leader.topic_id, leader.error) == (
        Endpoint("b", 2),
        7,
        b"i" * 16,
        0,
    )
    assert metadata.endpoints == (Endpoint("a", 1), Endpoint("b", 2))


def test_a_partition_has_its_own_error_or_the_error_of_its_topic() -> None:
    def error(response: MetadataResponse, tp: TopicPartition = TP) -> int:
        metadata = Metadata()
        metadata.learn(response, NOW)
        leader = metadata.leader_of(tp, 1000)
        assert leader is not None
        return leader.error

    assert error(answer(error=5)) == 5
    assert error(answer(topic_error=29)) == 29
    assert error(answer(leader=-1)) == 5
    assert error(answer(leader=9)) == 5  # a leader that the answer does not describe
    assert error(answer(error=9)) == 0  # a follower is missing
    assert error(answer(), TopicPartition("t", 1)) == 3


def test_metadata_of_a_topic_is_unknown_if_expired_or_forgotten() -> None:
    metadata = Metadata()
    assert metadata.leader_of(TP, 1000) is None
    metadata.learn(answer(), 0.0)
    assert metadata.leader_of(TP, 0) is None
    metadata.learn(answer(), NOW)

    metadata.forget("t")

    assert metadata.leader_of(TP, 1000) is None


def test_a_metadata_response_without_brokers_keeps_the_known_brokers() -> None:
    metadata = Metadata()
    metadata.learn(answer(), NOW)

    metadata.learn(MetadataResponse(), NOW)

    assert len(metadata.endpoints) == 2
