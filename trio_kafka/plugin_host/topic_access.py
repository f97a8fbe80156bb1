"""Facts of topics for plugins that show them; see `state_access`.

A topic needs DESCRIBE; others are left out. As for the APIs that answer the same, its settings need
DESCRIBE_CONFIGS, its producers READ, and each group that reads it DESCRIBE on the group: without
that they are None or left out.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.config.dynamic import Source
from trio_kafka.config.report.describe import describe_topic
from trio_kafka.coordinators.groups.facts.topic_readers import groups_of_topics, readers_of_topic
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.groups.lag import ends_of
from trio_kafka.errors import KafkaError
from trio_kafka.introspect.facts.topics import (
    ProducerFacts,
    SettingFacts,
    TopicDetails,
    TopicFacts,
    TopicReader,
)
from trio_kafka.plugin_host.group_access import may_describe_group, may_describe_topic
from trio_kafka.plugin_host.paced_steps import paced
from trio_kafka.replication.topic_facts import (
    partition_facts,
    producer_facts,
    ranked_topics,
    topic_facts,
)
from trio_kafka.replication.topic_metrics import MetricsByTopic, TopicMetrics
from trio_kafka.requests.loopback import IN_PROCESS
from trio_kafka.requests.parts import Missing, MissingPartError, Parts
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.security.operations import Operation
from trio_kafka.security.principal import Principal
from trio_kafka.security.resources import DENIALS, Resource, ResourceType

_SOURCES: Final = {
    Source.TOPIC: "topic",
    Source.DYNAMIC_BROKER: "broker, dynamic",
    Source.DYNAMIC_DEFAULT_BROKER: "all brokers, dynamic",
    Source.STATIC_BROKER: "broker file",
    Source.DEFAULT: "default",
}
_GROUPS: Final = 100  # of one topic in the list
_A_STEP: Final = 256  # topics in one step


@frozen
class TopicPage:
    """Some topics in their order. total: topics that there are."""

    topics: Sequence[TopicFacts]
    total: int


async def read_traffic_as(principal: Principal, parts: Parts) -> dict[str, tuple[int, int, int]]:
    """Return bytes in, records in and bytes out of the topics with traffic, since the start."""
    return await paced(_traffic(_metrics(parts), may_describe_topic(principal, parts)))


async def read_topic_page_as(
    principal: Principal,
    parts: Parts,
    *,
    of: str = "",
    first: int = 0,
    most: int,
    rate_of: Callable[[str], float],
) -> TopicPage:
    """Read some of the topics, the troubled ones first, then those with the most traffic.

    of: text that their names contain, in whatever case. first: topics to skip. rate_of: traffic of
    a topic. Only the ranking looks at every topic.
    """
    may_describe, searched = may_describe_topic(principal, parts), of.lower()

    def is_visible(name: str) -> bool:
        return searched in name.lower() and may_describe(name)

    replicas = parts.replicas
    ranking = await paced(ranked_topics(replicas, is_visible, rate_of))
    names = [topic.name for topic in ranking[first : first + most]]
    may_see = cache(may_describe_group(principal, parts))
    groups = await paced(groups_of_topics(_machines(parts), frozenset(names), may_see, _GROUPS))
    metrics = dict(_metrics(parts))
    facts = list[TopicFacts]()
    for name in names:
        topic = replicas.image.topic(name)
        if topic is not None:  # else it was deleted meanwhile
            counters = metrics.get(name) or TopicMetrics()
            readers = groups.get(name, ())
            steps = topic_facts(topic, replicas, parts.node_id, counters, readers)
            facts.append(await paced(steps))
    return TopicPage(facts, len(ranking))


async def read_topic_as(
    principal: Principal, parts: Parts, name: str, *, most: int
) -> TopicDetails | None:
    """Read one topic; None if there is none. most: of its partitions, producers and groups each.

    Raises KafkaError(TOPIC_AUTHORIZATION_FAILED).
    """
    if not _may(principal, parts, Operation.DESCRIBE, name):
        raise KafkaError(
            DENIALS[ResourceType.TOPIC],
            f"{principal} has no permission {Operation.DESCRIBE.name} on topic {name}: ask an"
            " administrator for it",
        )
    replicas = parts.replicas
    topic = replicas.image.topic(name)
    if topic is None:
        return None
    readers = await _readers(principal, parts, name, most)
    counters = dict(_metrics(parts)).get(name) or TopicMetrics()
    groups = tuple(reader.group_id for reader in readers)
    facts = await paced(topic_facts(topic, replicas, parts.node_id, counters, groups))
    partitions = await paced(partition_facts(topic, replicas, most))
    producers: Sequence[ProducerFacts] | None = None
    producers_total = 0
    if _may(principal, parts, Operation.READ, name):
        producers, producers_total = await paced(producer_facts(topic, replicas, most))
    return TopicDetails(
        facts=facts,
        partitions=tuple(partitions),
        producers=None if producers is None else tuple(producers),
        producers_total=producers_total,
        settings=_settings(principal, parts, name),
        readers=tuple(readers),
    )


async def _readers(
    principal: Principal, parts: Parts, name: str, most: int
) -> Sequence[TopicReader]:
    may_see, end_of = may_describe_group(principal, parts), ends_of(parts.replicas)
    return await paced(readers_of_topic(_machines(parts), name, end_of, may_see, most))


def _settings(principal: Principal, parts: Parts, name: str) -> tuple[SettingFacts, ...] | None:
    """Return the settings, those that are not defaults first; None: they may not be seen."""
    if not _may(principal, parts, Operation.DESCRIBE_CONFIGS, name):
        return None
    image = parts.replicas.image
    layers = parts.settings.usable(image)
    rows = describe_topic(parts.settings.topic(image, name).texts, layers)
    rows.sort(key=lambda row: (row.source, row.name))
    return tuple(
        SettingFacts(
            name=row.name,
            value=row.value,
            source=_SOURCES.get(row.source, row.source.name.lower()),
        )
        for row in rows
    )


def _traffic(
    metrics: MetricsByTopic, is_visible: Callable[[str], bool]
) -> Steps[dict[str, tuple[int, int, int]]]:
    traffic = dict[str, tuple[int, int, int]]()
    for number, (name, topic) in enumerate(metrics, 1):
        if (topic.bytes_in or topic.bytes_out) and is_visible(name):
            traffic[name] = (topic.bytes_in, topic.records_in, topic.bytes_out)
        if not number % _A_STEP:
            yield
    return traffic


def _metrics(parts: Parts) -> MetricsByTopic:
    try:
        return parts[MetricsByTopic]
    except MissingPartError:
        return MetricsByTopic()


def _machines(parts: Parts) -> Sequence[Groups]:
    return () if isinstance(parts.groups, Missing) else parts.groups.machines


def _may(principal: Principal, parts: Parts, operation: Operation, topic: str) -> bool:
    resource = Resource(ResourceType.TOPIC, topic)
    return parts.authorizer.authorize(principal, IN_PROCESS.host, operation, resource)
