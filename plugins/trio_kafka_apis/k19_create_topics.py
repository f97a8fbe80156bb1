"""CreateTopics (key 19): make topics, each for itself.

Waits for the controller, at most the request's timeout: a topic is answered when its records are
durable and this broker has seen them. The answer tells the topic's settings (version 5 on,
KIP-525).
"""

from collections.abc import Mapping
from typing import Final

import trio

from trio_kafka.plugin import (
    MANY_PARTITIONS,
    MOST_PARTITIONS,
    MOST_SETTINGS,
    Charges,
    Context,
    CreatedTopic,
    ErrorCode,
    KafkaError,
    NewTopic,
    NodeId,
    Steps,
    api,
    counted,
    describe_topic,
    in_slices,
    in_steps,
    lazily,
)
from trio_kafka.protocol.messages.k19_create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

STRICT_SINCE: Final = 6  # KIP-599
SLICE: Final = 50  # topics that are looked at without letting others run


@api(CreateTopicsRequest, largest=MANY_PARTITIONS)
async def create_topics(request: CreateTopicsRequest, context: Context) -> CreateTopicsResponse:
    named = await in_steps(counted(topic.name for topic in request.topics))
    wanted: list[NewTopic] = []
    failed: dict[str, KafkaError] = {}
    await in_steps(_sort(request, named, wanted, failed))
    charges = context.quotas.mutations(context.request, strict=context.version >= STRICT_SINCE)
    made = await context.parked(_create, wanted, request, context, charges)
    described = _Described(context)
    return CreateTopicsResponse(
        throttle_time_ms=charges.left_ms(),
        topics=lazily(named, lambda name: _result(name, failed.get(name) or made[name], described)),
    )


async def _create(
    wanted: list[NewTopic], request: CreateTopicsRequest, context: Context, charges: Charges
) -> dict[str, CreatedTopic | KafkaError]:
    return await context.controller.create_topics(
        wanted,
        deadline=trio.current_time() + max(request.timeout_ms, 0) / 1000,
        validate_only=request.validate_only,
        principal=context.principal,
        charge=charges,
    )


def _sort(
    request: CreateTopicsRequest,
    named: Mapping[str, int],
    wanted: list[NewTopic],
    failed: dict[str, KafkaError],
) -> Steps[None]:
    """Fill `wanted` with the topics that may be tried, `failed` with why others are refused."""
    for some in in_slices(request.topics, SLICE):
        for topic in some:
            try:
                if named[topic.name] > 1:
                    found = f"topic {topic.name} is named twice"
                    raise KafkaError(ErrorCode.INVALID_REQUEST, found)
                wanted.append(_wanted(topic))
            except KafkaError as error:
                failed[topic.name] = error.as_value()
        yield


def _wanted(topic: CreatableTopic) -> NewTopic:
    """Raises KafkaError for what is said twice, and for too much of it."""
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
    name: str, made: CreatedTopic | KafkaError, described: "_Described"
) -> CreatableTopicResult:
    if isinstance(made, KafkaError):
        return CreatableTopicResult(name=name, error_code=made.code, error_message=made.message)
    return CreatableTopicResult(
        name=name,
        topic_id=made.id,
        error_message=None,
        num_partitions=made.partitions,
        replication_factor=made.replication_factor,
        configs=described.rows(made.configs),
    )


class _Described:
    """Settings of the topics of one request, as the answer has them: most topics have the same."""

    def __init__(self, context: Context) -> None:
        self._layers = context.settings.usable(context.metadata.image)
        self._rows: dict[frozenset[tuple[str, str]], list[CreatableTopicConfigs]] = {}

    def rows(self, configs: Mapping[str, str]) -> list[CreatableTopicConfigs]:
        """All settings of a topic for which these were set; made once (1 ms), then shared."""
        key = frozenset(configs.items())
        if key not in self._rows:
            self._rows[key] = [
                CreatableTopicConfigs(row.name, row.value, row.read_only, row.source, row.sensitive)
                for row in describe_topic(configs, self._layers)
            ]
        return self._rows[key]
