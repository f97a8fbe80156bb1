"""DescribeProducers (key 61): list the producers that the log of a partition knows.

Never waits. Any replica answers, not only the leader. A partition that is named twice is described
once. A producer is listed from its first batch
with an id until it has been silent for `producer.id.expiration.ms`. Its state is read when it is
written to the response. Source: KIP-664.

Needs READ on each topic, checked after its name, as in Kafka.
"""

from functools import partial
from typing import Final

from trio_kafka.log.producer_state import Producer as ActiveProducer
from trio_kafka.metadata.names import check_topic_name
from trio_kafka.pending import Eventual
from trio_kafka.protocol.messages.k61_describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicRequest,
    TopicResponse,
)
from trio_kafka.replication.partition import active_producers
from trio_kafka.replication.table import Replicas
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.requests.lazy_arrays import lazily
from trio_kafka.requests.rows import Pairs, for_each, rows
from trio_kafka.security.operations import Operation

NO_TRANSACTION: Final = -1


@api(DescribeProducersRequest)
def describe_producers(
    request: DescribeProducersRequest, context: Context
) -> Eventual[DescribeProducersResponse]:
    numbers: dict[str, dict[int, None]] = {topic.name: {} for topic in request.topics}

    def want(pair: tuple[TopicRequest, int]) -> None:
        numbers[pair[0].name][pair[1]] = None

    named = Pairs(request.topics, lambda topic: topic.partition_indexes)
    return for_each(named, want, partial(_describe_all, numbers, context))


def _describe_all(
    numbers: dict[str, dict[int, None]], context: Context
) -> Eventual[DescribeProducersResponse]:
    def authorize(topic: tuple[str, dict[int, None]]) -> None:
        check_topic_name(topic[0])
        context.authorize(Operation.READ, topic=topic[0])

    def describe(topic: tuple[str, dict[int, None]], number: int) -> PartitionResponse:
        producers = active_producers(context[Replicas].partition(topic[0], number))
        return PartitionResponse(number, active_producers=lazily(producers, _producer))

    return rows(
        list(numbers.items()),
        lambda topic: list(topic[1]),
        describe,
        lambda topics: DescribeProducersResponse(topics=topics),
        group=lambda topic, partitions: TopicResponse(topic[0], partitions),
        refused=lambda _, number, error: PartitionResponse(number, error.code, error.message),
        permission=authorize,
    )


def _producer(producer: ActiveProducer) -> ProducerState:
    first = producer.transaction_first_offset
    return ProducerState(
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        last_sequence=producer.last_sequence,
        last_timestamp=producer.timestamp,
        coordinator_epoch=producer.coordinator_epoch,
        current_txn_start_offset=NO_TRANSACTION if first is None else first,
    )
