"""DescribeProducers (key 61): the producers that a partition's log knows.

Waits for nothing, but lets others run between slices of many producers. Any replica answers, not
only the leader. A producer stands here from its first batch with an id until it was silent for
`producer.id.expiration.ms`. Source: KIP-664.
"""

from typing import Final

import trio

from trio_kafka.plugin import Context, KafkaError, active_producers, api, check_topic_name
from trio_kafka.protocol.messages.k61_describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)

NO_TRANSACTION: Final = -1
SLICE: Final = 500  # producers described without letting others run: about 0.5 ms


@api(DescribeProducersRequest)
async def describe_producers(
    request: DescribeProducersRequest, context: Context
) -> DescribeProducersResponse:
    await trio.lowlevel.checkpoint()
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                topic.name,
                [
                    await _describe(topic.name, number, context)
                    for number in topic.partition_indexes
                ],
            )
            for topic in request.topics
        ]
    )


async def _describe(topic: str, number: int, context: Context) -> PartitionResponse:
    try:
        check_topic_name(topic)
        producers = active_producers(context.replicas.partition(topic, number))
    except KafkaError as error:
        return PartitionResponse(number, error.code, error.message)
    response = PartitionResponse(number)
    for start in range(0, len(producers), SLICE):
        if start:
            await trio.lowlevel.checkpoint()
        for one in producers[start : start + SLICE]:
            first = one.transaction_first_offset
            response.active_producers.append(
                ProducerState(
                    producer_id=one.producer_id,
                    producer_epoch=one.epoch,
                    last_sequence=one.last_sequence,
                    last_timestamp=one.timestamp,
                    coordinator_epoch=one.coordinator_epoch,
                    current_txn_start_offset=NO_TRANSACTION if first is None else first,
                )
            )
    return response
