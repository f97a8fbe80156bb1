"""`trio-kafka topic delete`: topics with all their records."""

from argparse import ArgumentParser
from collections.abc import Sequence

from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.admin import Change, declare_change, open_cluster, report
from trio_kafka.cli.broker_client import open_client, parse_addresses
from trio_kafka.cli.topic.list import declare_topics
from trio_kafka.cli.topics import UNKNOWN, find_topics
from trio_kafka.clients.errors import ClientError


def declare(parser: ArgumentParser) -> None:
    declare_topics(parser)
    parser.add_argument(
        "--yes", action="store_true", help="needed where a pattern names the topics"
    )
    declare_change(parser)


def delete(
    *,
    topic: Sequence[str],
    regex: bool,
    yes: bool,
    dry_run: bool,
    bootstrap: str,
    timeout: float,
    json: bool,
) -> int:
    """Delete topics, with all their records. There is no way back."""
    with open_client(parse_addresses(bootstrap), timeout, unknown=UNKNOWN) as send:
        names = [row.name or "" for row in find_topics(send, topic, regex=regex)]
    if not (dry_run or yes) and set(names) - set(topic):
        raise CommandFailedError(
            f"the pattern matches {len(names)} topics: look at them with --dry-run, then give --yes"
        )
    errors: dict[str, ClientError] = {}
    if not dry_run:
        with open_cluster(bootstrap, timeout) as admin:
            errors = {str(name): error for name, error in admin.delete_topics(names).errors.items()}
    tool = ["kafka-topics.sh", "--bootstrap-server", bootstrap, "--delete"]
    changes = {
        name: Change(
            verb="delete",
            words=f"topic {name}",
            kafka=[*tool, "--topic", name],
            data={"topic": name},
        )
        for name in names
    }
    return report(changes, errors, dry_run=dry_run, json=json)
