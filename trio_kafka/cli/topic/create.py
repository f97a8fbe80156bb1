"""`trio-kafka topic create`: new topics."""

from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Unpack

from trio_kafka.cli.admin import (
    Change,
    ChangeOptions,
    declare_change,
    open_cluster,
    parse_pairs,
    report,
)
from trio_kafka.clients.admin.topic_values import NewTopic
from trio_kafka.errors import ErrorCode


def declare(parser: ArgumentParser) -> None:
    parser.add_argument("topic", nargs="+", metavar="TOPIC")
    parser.add_argument(
        "-p", "--partitions", type=int, metavar="NUMBER", help="default: that of the broker"
    )
    parser.add_argument(
        "-r", "--replicas", type=int, metavar="NUMBER", help="default: that of the broker"
    )
    parser.add_argument(
        "-c",
        "--config",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="setting, such as retention.ms=86400000; may be repeated",
    )
    parser.add_argument(
        "--if-not-exists", action="store_true", help="a topic that exists is no error"
    )
    declare_change(parser)


def create(
    *,
    topic: Sequence[str],
    partitions: int | None,
    replicas: int | None,
    config: Sequence[str],
    if_not_exists: bool,
    **options: Unpack[ChangeOptions],
) -> int:
    """Create topics. With --dry-run the broker checks them, and creates none."""
    bootstrap, dry_run, timeout = options["bootstrap"], options["dry_run"], options["timeout"]
    configs = parse_pairs("--config", config)
    rows = [
        NewTopic(
            name, num_partitions=partitions, replication_factor=replicas, configs=dict(configs)
        )
        for name in topic
    ]
    with open_cluster(bootstrap, timeout) as admin:
        results = admin.create_topics(rows, validate_only=dry_run)
    changes = {}
    for name, row in results.values_by_item.items():
        kafka = ["kafka-topics.sh", "--bootstrap-server", bootstrap, "--create", "--topic", name]
        kafka += [] if partitions is None else ["--partitions", str(partitions)]
        kafka += [] if replicas is None else ["--replication-factor", str(replicas)]
        kafka += [word for pair in config for word in ("--config", pair)]
        kafka += ["--if-not-exists"] if if_not_exists else []
        changes[name] = Change(
            verb="create",
            words=f"topic {name}, partitions {row.num_partitions}, replicas"
            f" {row.replication_factor}",
            kafka=kafka,
            data={
                "topic": name,
                "partitions": row.num_partitions,
                "replicas": row.replication_factor,
                "configs": configs,
            },
        )
    errors = {
        name: error
        for name, error in results.errors.items()
        if not (if_not_exists and error.code is ErrorCode.TOPIC_ALREADY_EXISTS)
    }
    return report(changes, errors, dry_run=dry_run, json=options["json"])
