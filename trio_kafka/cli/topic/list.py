"""`trio-kafka topic list`: the topics of a cluster."""

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from typing import Final

from trio_kafka.cli.admin import TIMEOUT_S
from trio_kafka.cli.broker_client import open_client, parse_addresses
from trio_kafka.cli.broker_options import declare_broker
from trio_kafka.cli.output import LEFT, RIGHT, columns, declare_json, print_answer
from trio_kafka.cli.topics import UNKNOWN, find_topics
from trio_kafka.protocol.messages.k03_metadata import MetadataResponseTopic

_HEAD: Final = ("topic", "partitions", "replicas")


def declare(parser: ArgumentParser) -> None:
    declare_topics(parser, needed=False)
    parser.add_argument("--internal", action="store_true", help="Kafka's own topics, too")
    declare_broker(parser, TIMEOUT_S)
    declare_json(parser, "one JSON object: `topics`")


def declare_topics(parser: ArgumentParser, *, needed: bool = True) -> None:
    """Declare the names of topics, and `--regex`."""
    parser.add_argument(
        "topic",
        nargs="+" if needed else "*",
        metavar="TOPIC",
        help="a name, or a glob such as 'orders-*'",
    )
    parser.add_argument(
        "--regex", action="store_true", help="TOPIC is an expression of RE2 for whole names"
    )


def list_topics(
    *,
    topic: Sequence[str],
    regex: bool,
    internal: bool,
    bootstrap: str,
    timeout: float,
    json: bool,
) -> int:
    """Show the topics of a cluster, with partitions and replicas."""
    with open_client(parse_addresses(bootstrap), timeout, unknown=UNKNOWN) as send:
        topics = find_topics(send, topic, all_if_none=True, regex=regex)
    shown = [row for row in topics if internal or topic or not row.is_internal]
    return print_answer(shown, as_data, as_text, json=json)


def as_data(topics: Sequence[MetadataResponseTopic]) -> dict[str, object]:
    """Return the topics for JSON."""
    rows = [
        {
            "name": topic.name,
            "partitions": len(topic.partitions),
            "replicas": _replicas(topic),
            "internal": topic.is_internal,
        }
        for topic in topics
    ]
    return {"topics": rows}


def as_text(topics: Sequence[MetadataResponseTopic]) -> Iterator[str]:
    """Yield the lines of a table."""
    rows = [
        [topic.name or "", str(len(topic.partitions)), str(_replicas(topic))] for topic in topics
    ]
    yield from columns(_HEAD, rows, [LEFT, RIGHT, RIGHT])


def _replicas(topic: MetadataResponseTopic) -> int:
    return max((len(row.replica_nodes) for row in topic.partitions), default=0)
