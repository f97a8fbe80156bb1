"""DescribeProducers (key 61): list the producers that the log of a partition knows.

Never waits. Any replica answers, not only the leader. A partition that is named twice is described
once. A producer is listed from its first batch
with an id until it has been silent for `producer.id.expiration.ms`. Its state is read when it is
written to the response. Source: KIP-664.

Needs READ on each topic, checked after its name, as in Kafka.
"""

from typing import Final

from trio_kafka.plugin import (
    ActiveProducer,
    Context,
    KafkaError,
    Operation,
    Steps,
    active_producers,
    api,
    check_topic_name,
    in_slices,
    lazily,
)
from trio_kafka.protocol.messages.k61_describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)

NO_TRANSACTION: Final = -1
STEP: Final = 1000  # partitions in one step


@api(DescribeProducersRequest)
def describe_producers(
    request: DescribeProducersRequest, context: Context
) -> Steps[DescribeProducersResponse]:
    named: dict[str, dict[int, None]] = {}
    for topic in request.topics:
        for some in in_slices(topic.partition_indexes, STEP):
            named.setdefault(topic.name, {}).update(dict.fromkeys(some))
            yield
        named.setdefault(topic.name, {})
        yield
    response = DescribeProducersResponse()
    for name, numbers in named.items():
        row = TopicResponse(name)
        response.topics.append(row)
        for number in numbers:
            row.partitions.append(_partition(name, number, context))
            yield
    return response


def _partition(topic: str, number: int, context: Context) -> PartitionResponse:
    try:
        check_topic_name(topic)
        context.authorize(Operation.READ, topic=topic)
        producers = active_producers(context.replicas.partition(topic, number))
    except KafkaError as error:
        return PartitionResponse(number, error.code, error.message)
    return PartitionResponse(number, active_producers=lazily(producers, _producer))


def _producer(one: ActiveProducer) -> ProducerState:
    first = one.transaction_first_offset
    return ProducerState(
        producer_id=one.producer_id,
        producer_epoch=one.epoch,
        last_sequence=one.last_sequence,
        last_timestamp=one.timestamp,
        coordinator_epoch=one.coordinator_epoch,
        current_txn_start_offset=NO_TRANSACTION if first is None else first,
    )
