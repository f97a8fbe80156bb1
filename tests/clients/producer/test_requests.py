"""Produce requests and the rows of their responses."""

from trio_kafka.clients.producer.batch import ProducerBatch
from trio_kafka.clients.producer.requests import BY_NAME, addresses, produce_attempt
from trio_kafka.errors import ErrorCode
from trio_kafka.model import ZERO_TOPIC_ID, Endpoint, TopicPartition
from trio_kafka.protocol.messages.k00_produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from trio_kafka.records.batch import Record
from trio_kafka.records.compression import Codec

IDS = {"t": bytes(15) + b"\1", "u": bytes(15) + b"\2"}


def batch_of(topic, partition):
    place = TopicPartition(topic, partition)
    batch = ProducerBatch(place=place, order=(1,), created=0.0, expires=9.0)
    batch.add(Record(-1, 1, None, b"v"), 20)
    batch.close(Codec.NONE, None)
    return batch


def attempt_of(*places, ids=IDS):
    batches = [batch_of(*place) for place in places]
    return produce_attempt(
        batches, lambda name: ids.get(name, ZERO_TOPIC_ID), acks=-1, timeout_ms=500
    )


def test_batches_are_grouped_by_topic():
    attempt = attempt_of(("t", 0), ("u", 1), ("t", 2))

    topics = attempt.request.topic_data
    assert [(topic.name, topic.topic_id) for topic in topics] == list(IDS.items())
    assert [[part.index for part in topic.partition_data] for topic in topics] == [[0, 2], [1]]
    assert (attempt.request.acks, attempt.request.timeout_ms) == (-1, 500)
    assert attempt.at_most is None


def test_topic_without_an_id_is_named():
    assert attempt_of(("t", 0), ("new", 0)).at_most == BY_NAME


def test_rows_are_found_by_name_and_by_id():
    attempt = attempt_of(("t", 0), ("u", 1))
    rows = [PartitionProduceResponse(0, 0, 5), PartitionProduceResponse(1, 3, -1)]
    for names in ({"name": "t"}, {"topic_id": IDS["t"]}):
        response = ProduceResponse([TopicProduceResponse(**names, partition_responses=rows)])
        answers = attempt.answers(response)

        assert answers[TopicPartition("t", 0)].base_offset == 5
        assert answers[TopicPartition("t", 1)].code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert TopicPartition("u", 1) not in answers


def test_texts_leaders_and_addresses_of_a_response_are_kept():
    attempt = attempt_of(("t", 0))
    row = PartitionProduceResponse(
        0,
        87,
        -1,
        record_errors=[BatchIndexAndErrorMessage(0, "no")],
        error_message="bad",
        current_leader=LeaderIdAndEpoch(4, 9),
    )
    response = ProduceResponse(
        [TopicProduceResponse("t", partition_responses=[row])],
        node_endpoints=[NodeEndpoint(4, "b4", 9092, None)],
    )
    answer = attempt.answers(response)[TopicPartition("t", 0)]

    assert answer.message == "bad (1 records)"
    assert (answer.leader.node, answer.leader.epoch) == (4, 9)
    assert addresses(response) == {4: Endpoint("b4", 9092)}
