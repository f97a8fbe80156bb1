"""`trio-kafka topic grow`: more partitions of topics."""

from argparse import ArgumentParser
from collections.abc import Sequence

from trio_kafka.cli.admin import Change, declare_change, open_cluster, report
from trio_kafka.cli.broker_client import open_client, parse_addresses
from trio_kafka.cli.topic.list import declare_topics
from trio_kafka.cli.topics import UNKNOWN, find_topics
from trio_kafka.clients.admin.topic_values import NewPartitions


def declare(parser: ArgumentParser) -> None:
    declare_topics(parser)
    parser.add_argument(
        "-p",
        "--partitions",
        type=int,
        required=True,
        metavar="NUMBER",
        help="of all partitions afterwards",
    )
    declare_change(parser)


def grow(
    *,
    topic: Sequence[str],
    regex: bool,
    partitions: int,
    dry_run: bool,
    bootstrap: str,
    timeout: float,
    json: bool,
) -> int:
    """Add partitions to topics. Keys then go to other partitions; Kafka cannot take any away."""
    with open_client(parse_addresses(bootstrap), timeout, unknown=UNKNOWN) as send:
        counts = {
            row.name or "": len(row.partitions) for row in find_topics(send, topic, regex=regex)
        }
    with open_cluster(bootstrap, timeout) as admin:
        results = admin.create_partitions(
            dict.fromkeys(counts, NewPartitions(partitions)), validate_only=dry_run
        )
    tool = ["kafka-topics.sh", "--bootstrap-server", bootstrap, "--alter"]
    changes = {
        name: Change(
            verb="grow",
            words=f"topic {name} from {count} to {partitions} partitions",
            kafka=[*tool, "--topic", name, "--partitions", str(partitions)],
            data={"topic": name, "before": count, "partitions": partitions},
        )
        for name, count in counts.items()
    }
    return report(changes, results.errors, dry_run=dry_run, json=json)
