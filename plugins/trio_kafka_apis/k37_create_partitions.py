"""CreatePartitions (key 37): let topics have more partitions, each topic for itself.

Waits for the controller, at most the request's timeout: a topic is answered when its new partitions
are durable and this broker has seen them. One that is named twice does not grow, and is answered
once.
"""

from collections.abc import Sequence
from typing import Final

import trio

from trio_kafka.plugin import (
    Charges,
    Context,
    ErrorCode,
    KafkaError,
    NodeId,
    api,
    counted,
    in_slices,
    in_steps,
    rows_of,
)
from trio_kafka.protocol.messages.k37_create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)

# The new count, and the replicas of each new partition; None: the controller chooses them.
Growth = tuple[int, Sequence[Sequence[NodeId]] | None]
STRICT_SINCE: Final = 3  # KIP-599
SLICE: Final = 50  # topics that are looked at without letting others run


@api(CreatePartitionsRequest)
async def create_partitions(
    request: CreatePartitionsRequest, context: Context
) -> CreatePartitionsResponse:
    named = await in_steps(counted(topic.name for topic in request.topics))
    wanted: dict[str, Growth] = {}
    for some in in_slices(request.topics, SLICE):
        for topic in some:
            if named[topic.name] == 1:
                wanted[topic.name] = topic.count, _assignments(topic)
        await trio.lowlevel.checkpoint()
    charges = context.quotas.mutations(context.request, strict=context.version >= STRICT_SINCE)
    made = await context.parked(_create, wanted, request, context, charges)
    return CreatePartitionsResponse(
        throttle_time_ms=charges.left_ms(), results=rows_of(named, lambda name: _result(name, made))
    )


async def _create(
    wanted: dict[str, Growth],
    request: CreatePartitionsRequest,
    context: Context,
    charges: Charges,
) -> dict[str, KafkaError | None]:
    return await context.controller.create_partitions(
        wanted,
        deadline=trio.current_time() + max(request.timeout_ms, 0) / 1000,
        validate_only=request.validate_only,
        charge=charges,
    )


def _assignments(topic: CreatePartitionsTopic) -> list[list[NodeId]] | None:
    if topic.assignments is None:
        return None
    return [[NodeId(node) for node in one.broker_ids] for one in topic.assignments]


def _result(name: str, made: dict[str, KafkaError | None]) -> CreatePartitionsTopicResult:
    if name not in made:
        return CreatePartitionsTopicResult(
            name, ErrorCode.INVALID_REQUEST, f"topic {name} is named twice"
        )
    error = made[name]
    if error is None:
        return CreatePartitionsTopicResult(name)
    return CreatePartitionsTopicResult(name, error.code, error.message)
