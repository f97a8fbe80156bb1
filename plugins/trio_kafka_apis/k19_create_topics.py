"""CreateTopics (key 19): create topics, each independently of the others.

Waits for the controller, at most the timeout of the request. A topic is answered when its records
are durable and this broker has applied them. The response contains the topic's settings (version 5
on, KIP-525).

Needs CREATE on the cluster or on each topic. The settings of a new topic, its partition count and
its replication factor are returned only with DESCRIBE_CONFIGS on the topic.
"""

from collections.abc import Mapping
from typing import Final

import trio

from trio_kafka.config.report.describe import describe_topic
from trio_kafka.controller.configs import MOST_SETTINGS
from trio_kafka.controller.controller import Controller
from trio_kafka.controller.topics import MOST_PARTITIONS, CreatedTopic, NewTopic
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.effective import EffectiveConfig
from trio_kafka.model import NodeId
from trio_kafka.protocol.messages.k19_create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from trio_kafka.quotas.mutation import Charges
from trio_kafka.requests.api import MANY_PARTITIONS, api
from trio_kafka.requests.context import Context
from trio_kafka.requests.lazy_arrays import lazily
from trio_kafka.requests.rows import visit
from trio_kafka.requests.throttling.throttle import Throttle
from trio_kafka.scheduling.chunked_work import counted
from trio_kafka.scheduling.loop_budget import in_steps
from trio_kafka.security.operations import Operation

STRICT_SINCE: Final = 6  # KIP-599


@api(CreateTopicsRequest, largest=MANY_PARTITIONS)
async def create_topics(request: CreateTopicsRequest, context: Context) -> CreateTopicsResponse:
    named = await in_steps(counted(topic.name for topic in request.topics))
    wanted: list[NewTopic] = []
    failed: dict[str, KafkaError] = {}
    may_create_all = context.is_authorized(Operation.CREATE, cluster=True)

    def sort(topic: CreatableTopic) -> None:
        try:
            if named[topic.name] > 1:
                found = f"topic {topic.name} is named twice"
                raise KafkaError(ErrorCode.INVALID_REQUEST, found)
            if not may_create_all:
                context.authorize(Operation.CREATE, topic=topic.name)
            wanted.append(_wanted(topic))
        except KafkaError as error:
            failed[topic.name] = error.as_value()

    await visit(request.topics, sort)
    charges = context[Throttle].mutations(context.request, strict=context.version >= STRICT_SINCE)
    made = await context.parked(_create, wanted, request, context, charges)
    described = _Described(context)
    return CreateTopicsResponse(
        throttle_time_ms=charges.left_ms(),
        topics=lazily(
            named, lambda name: _result(name, failed.get(name) or made[name], described, context)
        ),
    )


async def _create(
    wanted: list[NewTopic], request: CreateTopicsRequest, context: Context, charges: Charges
) -> dict[str, CreatedTopic | KafkaError]:
    return await context[Controller].create_topics(
        wanted,
        deadline=trio.current_time() + max(request.timeout_ms, 0) / 1000,
        validate_only=request.validate_only,
        principal=context.principal,
        charge=charges,
    )


def _wanted(topic: CreatableTopic) -> NewTopic:
    """Return the topic to create. Raises KafkaError for duplicates, and above the limits."""
    if len(topic.assignments) > MOST_PARTITIONS:
        found = f"{len(topic.assignments)} assignments: want at most {MOST_PARTITIONS}"
        raise KafkaError(ErrorCode.POLICY_VIOLATION, found)
    if len(topic.configs) > MOST_SETTINGS:
        found = f"{len(topic.configs)} settings: want at most {MOST_SETTINGS} of one topic"
        raise KafkaError(ErrorCode.INVALID_REQUEST, found)
    assignments: dict[int, list[NodeId]] = {}
    for one in topic.assignments:
        if one.partition_index in assignments:
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"partition {one.partition_index} is assigned twice",
            )
        assignments[one.partition_index] = [NodeId(node) for node in one.broker_ids]
    return NewTopic(
        name=topic.name,
        partitions=topic.num_partitions,
        replication_factor=topic.replication_factor,
        assignments=assignments,
        configs={config.name: config.value for config in topic.configs},
    )


def _result(
    name: str, made: CreatedTopic | KafkaError, described: "_Described", context: Context
) -> CreatableTopicResult:
    if isinstance(made, KafkaError):
        return CreatableTopicResult(name=name, error_code=made.code, error_message=made.message)
    if not context.is_authorized(Operation.DESCRIBE_CONFIGS, topic=name):
        denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        return CreatableTopicResult(
            name=name, topic_id=made.id, error_message=None, topic_config_error_code=denied
        )
    return CreatableTopicResult(
        name=name,
        topic_id=made.id,
        error_message=None,
        num_partitions=made.partitions,
        replication_factor=made.replication_factor,
        configs=described.rows(made.configs),
    )


class _Described:
    """Settings of the new topics, as rows of the response. Equal ones are shared."""

    def __init__(self, context: Context) -> None:
        self._layers = context[EffectiveConfig].usable(context.image)
        self._rows: dict[frozenset[tuple[str, str]], list[CreatableTopicConfigs]] = {}

    def rows(self, configs: Mapping[str, str]) -> list[CreatableTopicConfigs]:
        """Return the rows of a topic with these settings. The first time takes 1 ms."""
        key = frozenset(configs.items())
        if key not in self._rows:
            self._rows[key] = [
                CreatableTopicConfigs(row.name, row.value, row.read_only, row.source, row.sensitive)
                for row in describe_topic(configs, self._layers)
            ]
        return self._rows[key]
