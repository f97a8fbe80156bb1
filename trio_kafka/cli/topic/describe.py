"""`trio-kafka topic describe`: partitions and settings of topics."""

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from typing import Final

from trio_kafka.cli.admin import TIMEOUT_S, open_cluster
from trio_kafka.cli.broker_client import open_client, parse_addresses
from trio_kafka.cli.broker_options import declare_broker
from trio_kafka.cli.output import LEFT, RIGHT, columns, declare_json, print_answer
from trio_kafka.cli.topic.list import declare_topics
from trio_kafka.cli.topics import UNKNOWN, find_topics
from trio_kafka.clients.admin.config_values import (
    ConfigEntry,
    ConfigResource,
    ConfigResourceType,
    ConfigSource,
)
from trio_kafka.clients.admin.topic_values import TopicDescription, TopicPartitionInfo
from trio_kafka.protocol.texts import printable, show_uuid

_HEAD: Final = ("partition", "leader", "replicas", "in sync")
Described = Sequence[tuple[TopicDescription, Sequence[ConfigEntry]]]


def declare(parser: ArgumentParser) -> None:
    declare_topics(parser)
    declare_broker(parser, TIMEOUT_S)
    declare_json(parser, "one JSON object: `topics`")


def describe(
    *, topic: Sequence[str], regex: bool, bootstrap: str, timeout: float, json: bool
) -> int:
    """Show the partitions of topics, and their settings that are not Kafka's defaults."""
    with open_client(parse_addresses(bootstrap), timeout, unknown=UNKNOWN) as send:
        names = [row.name or "" for row in find_topics(send, topic, regex=regex)]
    with open_cluster(bootstrap, timeout) as admin:
        descriptions = admin.describe_topics(names).all()
        resources = {name: ConfigResource(ConfigResourceType.TOPIC, name) for name in names}
        configs = admin.describe_configs(resources.values()).all()
    described = [
        (
            descriptions[name],
            [entry for entry in configs[resources[name]].values() if not entry.is_default],
        )
        for name in names
    ]
    return print_answer(described, as_data, as_text, json=json)


def as_data(described: Described) -> dict[str, object]:
    """Return the topics for JSON."""
    rows = [
        {
            "name": topic.name,
            "id": show_uuid(topic.topic_id),
            "internal": topic.is_internal,
            "configs": {entry.name: entry.value for entry in configs},
            "partitions": [
                {
                    "partition": row.partition,
                    "leader": row.leader,
                    "leader_epoch": row.leader_epoch,
                    "replicas": list(row.replicas),
                    "isr": list(row.isr),
                }
                for row in topic.partitions
            ],
        }
        for topic, configs in described
    ]
    return {"topics": rows}


def as_text(described: Described) -> Iterator[str]:
    """Yield the lines: a head, the settings and a table for each topic."""
    for number, (topic, configs) in enumerate(described):
        if number:
            yield ""
        count = len(topic.partitions)
        yield printable(f"topic {topic.name}  id {show_uuid(topic.topic_id)}  partitions {count}")
        for entry in configs:
            is_own = entry.source is ConfigSource.DYNAMIC_TOPIC_CONFIG
            yield printable(
                f"  {entry.name}={entry.value}" + ("" if is_own else f" ({entry.source.name})")
            )
        yield from columns(
            _HEAD, [_cells(row) for row in topic.partitions], [RIGHT, RIGHT, LEFT, LEFT]
        )


def _cells(row: TopicPartitionInfo) -> list[str]:
    leader = "none" if row.leader < 0 else str(row.leader)
    replicas, isr = (",".join(map(str, nodes)) for nodes in (row.replicas, row.isr))
    return [str(row.partition), leader, replicas, isr]
