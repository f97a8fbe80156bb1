"""`trio-kafka cluster health`: partitions that are offline, or lack replicas."""

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.cli import FAILED
from trio_kafka.cli.admin import TIMEOUT_S
from trio_kafka.cli.broker_client import open_client, parse_addresses
from trio_kafka.cli.broker_options import declare_broker
from trio_kafka.cli.output import LEFT, RIGHT, columns, declare_json, print_answer
from trio_kafka.cli.topics import UNKNOWN, all_topics
from trio_kafka.protocol.messages.k03_metadata import MetadataResponseTopic

_HEAD: Final = ("topic", "partition", "problem")


@frozen(kw_only=True)
class Health:
    """State of all partitions. problems: topic, partition and what is wrong."""

    topics: int
    partitions: int
    problems: Sequence[tuple[str, int, str]]


def declare(parser: ArgumentParser) -> None:
    declare_broker(parser, TIMEOUT_S)
    declare_json(parser, "one JSON object: `healthy`, `topics`, `partitions`, `problems`")


def health(*, bootstrap: str, timeout: float, json: bool) -> int:
    """Find partitions without a leader, or with too few replicas in sync.

    The exit status is 1 if there are any.
    """
    with open_client(parse_addresses(bootstrap), timeout, unknown=UNKNOWN) as send:
        answer = health_of(all_topics(send))
    print_answer(answer, as_data, as_text, json=json)
    return FAILED if answer.problems else 0


def health_of(topics: Sequence[MetadataResponseTopic]) -> Health:
    """Return what is wrong with partitions."""
    problems = []
    for topic in topics:
        for row in topic.partitions:
            in_sync, replicas = len(row.isr_nodes), len(row.replica_nodes)
            if row.leader_id < 0:
                problems.append((topic.name or "", row.partition_index, "offline: no leader"))
            elif in_sync < replicas:
                words = f"{in_sync} of {replicas} replicas in sync"
                problems.append((topic.name or "", row.partition_index, words))
    return Health(
        topics=len(topics),
        partitions=sum(len(topic.partitions) for topic in topics),
        problems=problems,
    )


def as_data(answer: Health) -> dict[str, object]:
    """Return the state for JSON."""
    return {
        "healthy": not answer.problems,
        "topics": answer.topics,
        "partitions": answer.partitions,
        "problems": [
            {"topic": topic, "partition": partition, "problem": problem}
            for topic, partition, problem in answer.problems
        ],
    }


def as_text(answer: Health) -> Iterator[str]:
    """Yield a line, and a table of the problems."""
    count = len(answer.problems)
    state = f"{count} of them with problems" if count else "all with a leader and all replicas"
    yield f"{answer.topics} topics, {answer.partitions} partitions: {state}"
    if count:
        rows = [[topic, str(partition), problem] for topic, partition, problem in answer.problems]
        yield from columns(_HEAD, rows, [LEFT, RIGHT, LEFT])
