"""CreatePartitions (key 37): add partitions to topics, each independently of the others.

Waits for the controller, at most the timeout of the request. A topic is answered when its new
partitions are durable and this broker has applied them. A topic that is named twice does not grow,
and is answered once.

Needs ALTER on each topic.
"""

from functools import partial
from typing import Final

import trio

from trio_kafka.controller.controller import Controller
from trio_kafka.controller.topics import NewPartitions
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.declared_waits import CONTROLLER, waits_for
from trio_kafka.model import NodeId
from trio_kafka.protocol.messages.k37_create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from trio_kafka.quotas.mutation import Charges
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.requests.lazy_arrays import rows_of
from trio_kafka.requests.rows import visit
from trio_kafka.requests.throttling.throttle import Throttle
from trio_kafka.scheduling.chunked_work import counted
from trio_kafka.scheduling.loop_budget import in_steps
from trio_kafka.security.operations import Operation

STRICT_SINCE: Final = 3  # KIP-599
SLICE: Final = 50  # topics in one step


@api(CreatePartitionsRequest)
async def create_partitions(
    request: CreatePartitionsRequest, context: Context
) -> CreatePartitionsResponse:
    named = await in_steps(counted(topic.name for topic in request.topics))
    new_partitions: dict[str, NewPartitions] = {}
    failed: dict[str, KafkaError] = {}

    def sort(topic: CreatePartitionsTopic) -> None:
        name = topic.name
        if named[name] > 1:
            failed[name] = KafkaError(ErrorCode.INVALID_REQUEST, f"topic {name} is named twice")
        elif context.is_authorized(Operation.ALTER, topic=name):
            new_partitions[name] = NewPartitions(topic.count, _assignments(topic))
        else:
            failed[name] = KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)

    await visit(request.topics, sort)
    charges = context[Throttle].mutations(context.request, strict=context.version >= STRICT_SINCE)
    errors = await context.parked(
        partial(_create, new_partitions, request, context, charges=charges)
    )
    return CreatePartitionsResponse(
        throttle_time_ms=charges.left_ms(),
        results=rows_of(named, lambda name: _result(name, failed.get(name) or errors[name])),
    )


@waits_for("change", CONTROLLER, "the controller to create partitions")
async def _create(
    new_partitions: dict[str, NewPartitions],
    request: CreatePartitionsRequest,
    context: Context,
    *,
    charges: Charges,
) -> dict[str, KafkaError | None]:
    return await context[Controller].create_partitions(
        new_partitions,
        deadline=trio.current_time() + max(request.timeout_ms, 0) / 1000,
        validate_only=request.validate_only,
        charge=charges,
    )


def _assignments(topic: CreatePartitionsTopic) -> list[list[NodeId]] | None:
    if topic.assignments is None:
        return None
    return [[NodeId(node) for node in assignment.broker_ids] for assignment in topic.assignments]


def _result(name: str, error: KafkaError | None) -> CreatePartitionsTopicResult:
    if error is None:
        return CreatePartitionsTopicResult(name)
    return CreatePartitionsTopicResult(name, error.code, error.message)
