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
from trio_kafka.introspect.declared_waits import CONTROLLER, waits_for
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
    new_topics: list[NewTopic] = []
    failed: dict[str, KafkaError] = {}
    may_create_all = context.is_authorized(Operation.CREATE, cluster=True)

    def sort(topic: CreatableTopic) -> None:
        try:
            if named[topic.name] > 1:
                reason = f"topic {topic.name} is named twice"
                raise KafkaError(ErrorCode.INVALID_REQUEST, reason)
            if not may_create_all:
                context.authorize(Operation.CREATE, topic=topic.name)
            new_topics.append(_new_topic(topic))
        except KafkaError as error:
            failed[topic.name] = error.as_value()

    await visit(request.topics, sort)
    charges = context[Throttle].mutations(context.request, strict=context.version >= STRICT_SINCE)
    results = await context.parked(_create, new_topics, request, context, charges)
    descriptions = _Descriptions(context)
    return CreateTopicsResponse(
        throttle_time_ms=charges.left_ms(),
        topics=lazily(
            named,
            lambda name: _result(
                name,
                failed.get(name) or results[name],
                descriptions=descriptions,
                context=context,
            ),
        ),
    )


@waits_for("change", CONTROLLER, "the controller to create topics")
async def _create(
    new_topics: list[NewTopic], request: CreateTopicsRequest, context: Context, charges: Charges
) -> dict[str, CreatedTopic | KafkaError]:
    return await context[Controller].create_topics(
        new_topics,
        deadline=trio.current_time() + max(request.timeout_ms, 0) / 1000,
        validate_only=request.validate_only,
        principal=context.principal,
        charge=charges,
    )


def _new_topic(topic: CreatableTopic) -> NewTopic:
    """Return the topic to create. Raises KafkaError for duplicates, and above the limits."""
    if len(topic.assignments) > MOST_PARTITIONS:
        reason = f"{len(topic.assignments)} assignments: want at most {MOST_PARTITIONS}"
        raise KafkaError(ErrorCode.POLICY_VIOLATION, reason)
    if len(topic.configs) > MOST_SETTINGS:
        reason = f"{len(topic.configs)} settings: want at most {MOST_SETTINGS} of one topic"
        raise KafkaError(ErrorCode.INVALID_REQUEST, reason)
    assignments: dict[int, list[NodeId]] = {}
    for assignment in topic.assignments:
        if assignment.partition_index in assignments:
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"partition {assignment.partition_index} is assigned twice",
            )
        assignments[assignment.partition_index] = [NodeId(node) for node in assignment.broker_ids]
    return NewTopic(
        name=topic.name,
        partitions=topic.num_partitions,
        replication_factor=topic.replication_factor,
        assignments=assignments,
        configs={config.name: config.value for config in topic.configs},
    )


def _result(
    name: str,
    result: CreatedTopic | KafkaError,
    *,
    descriptions: "_Descriptions",
    context: Context,
) -> CreatableTopicResult:
    if isinstance(result, KafkaError):
        return CreatableTopicResult(name=name, error_code=result.code, error_message=result.message)
    if not context.is_authorized(Operation.DESCRIBE_CONFIGS, topic=name):
        denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        return CreatableTopicResult(
            name=name, topic_id=result.id, error_message=None, topic_config_error_code=denied
        )
    return CreatableTopicResult(
        name=name,
        topic_id=result.id,
        error_message=None,
        num_partitions=result.partitions,
        replication_factor=result.replication_factor,
        configs=descriptions.rows(result.configs),
    )


class _Descriptions:
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
