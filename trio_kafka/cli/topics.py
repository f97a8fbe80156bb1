"""Topics that a command is asked about: they exist, or the command says which names are near."""

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final

from trio_kafka.cli import FAILED, CommandFailedError
from trio_kafka.cli.broker_client import SendRequest, error_name
from trio_kafka.cli.near_names import nearest
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.protocol.messages.k03_metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponseTopic,
)

UNKNOWN: Final = "the server has no API for topics: is it a Kafka broker?"
_WILD: Final = frozenset("*?[")


def all_topics(send: SendRequest) -> list[MetadataResponseTopic]:
    """Return all topics that may be described, sorted by name."""
    answer = send(MetadataRequest(None, allow_auto_topic_creation=False))
    return sorted(answer.topics, key=lambda topic: topic.name or "")


def find_topics(
    send: SendRequest, names: Sequence[str], *, all_if_none: bool = False, regex: bool = False
) -> list[MetadataResponseTopic]:
    """Return the topics of names and globs, such as `orders-*`, each once and sorted.

    regex: names are expressions of RE2, which match whole names. Patterns match no internal topic.
    Raises CommandFailedError for a name without a topic, with
    the nearest name, and for a glob that matches none.
    """
    if names and not regex and not any(_WILD & set(name) for name in names):
        named = _topics_of(send, names)
        if named is not None:
            return named
    topics = {topic.name or "": topic for topic in all_topics(send)}
    if not names and all_if_none:
        return list(topics.values())
    chosen: dict[str, MetadataResponseTopic] = {}
    for name in names:
        if name in topics and not regex:
            chosen[name] = topics[name]
        elif is_match := name_pattern(name, regex=regex):
            matches = {
                other: topic
                for other, topic in topics.items()
                if is_match(other) and not topic.is_internal
            }
            if not matches:
                raise CommandFailedError(f"no topic matches {name!r}", FAILED)
            chosen.update(matches)
        else:
            check_permission(send, name)
            raise unknown_topic(name, list(topics))
    for name, topic in chosen.items():
        if topic.error_code:
            raise CommandFailedError(f"topic {name}: {error_name(topic.error_code)}", FAILED)
    return [chosen[name] for name in sorted(chosen)]


def _topics_of(send: SendRequest, names: Sequence[str]) -> list[MetadataResponseTopic] | None:
    """Return the topics of names; None unless all of them exist.

    A cluster may have 10,000 others, which take 0.2 s to read.
    """
    requested = [MetadataRequestTopic(name=name) for name in sorted(set(names))]
    rows = send(MetadataRequest(requested, allow_auto_topic_creation=False)).topics
    if len(rows) != len(requested) or any(row.error_code for row in rows):
        return None
    return sorted(rows, key=lambda topic: topic.name or "")


def name_pattern(text: str, *, regex: bool) -> Callable[[str], object] | None:
    """Return what matches names: an expression of RE2, or a glob; None for a plain name.

    Raises CommandFailedError.
    """
    if regex:
        from trio_kafka.coordinators.groups.consumer.regex_pattern import (  # noqa: PLC0415
            compiled,
        )

        try:
            match: Callable[[str], object] = compiled(text).fullmatch
        except KafkaError as error:
            raise CommandFailedError(f"{text}: not an expression of RE2") from error
        return match
    return (lambda name: fnmatchcase(name, text)) if _WILD & set(text) else None


def check_permission(send: SendRequest, name: str) -> None:
    """Raise CommandFailedError if a topic is not listed because the client may not see it."""
    topic = MetadataRequestTopic(name=name)
    (row,) = send(MetadataRequest([topic], allow_auto_topic_creation=False)).topics
    if row.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        code = error_name(row.error_code)
        raise CommandFailedError(
            f"topic {name}: {code}: ask an administrator for DESCRIBE on it", FAILED
        )


def unknown_topic(name: str, others: Sequence[str]) -> CommandFailedError:
    """Return the error for a topic that does not exist."""
    return CommandFailedError(
        f"topic {name}: there is no such topic{nearest(name, others)}", FAILED
    )


def partition_numbers(topic: MetadataResponseTopic) -> list[int]:
    """Return the numbers of a topic's partitions, in order."""
    return sorted(row.partition_index for row in topic.partitions)


def check_leaders(topic: MetadataResponseTopic, numbers: Sequence[int]) -> None:
    """Raise CommandFailedError for a partition that does not exist or has no leader."""
    rows: Mapping[int, int] = {row.partition_index: row.error_code for row in topic.partitions}
    for number in numbers:
        if number not in rows:
            raise CommandFailedError(
                f"topic {topic.name}: there is no partition {number}, they are 0 to"
                f" {len(rows) - 1}",
                FAILED,
            )
        if rows[number] == ErrorCode.LEADER_NOT_AVAILABLE:
            raise CommandFailedError(
                f"partition {topic.name}-{number}: it has no leader now; start its broker", FAILED
            )
