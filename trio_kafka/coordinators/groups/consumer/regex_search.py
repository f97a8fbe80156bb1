"""Search of all topic names for the regular expressions of a group.

The shell (`topic_searches`) takes the steps of a search in a thread. What an expression matched is
known by the topics that were searched, so later searches look only at new names.
"""

from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.coordinators.groups.consumer.regex_pattern import compiled
from trio_kafka.errors import KafkaError
from trio_kafka.scheduling.chunked_work import Steps

TopicsByName: TypeAlias = Mapping[str, object]


@frozen
class Matches:
    """Names that an expression matches, of the topics that were searched."""

    topics: TopicsByName
    names: frozenset[str]


@define(eq=False)
class Search:
    """A search through all topics of one image, for all expressions of a group.

    topics, version: of the image. began_ms: wall time. may_describe: the topics that the member
    that caused it may describe; None stands for all.
    matches, rejected: names and errors by expression, filled by the shell. failed: by a bug.
    """

    group_id: str
    topics: TopicsByName
    version: int
    began_ms: int
    regexes: tuple[str, ...]
    may_describe: Callable[[str], bool] | None = None
    matches: dict[str, frozenset[str]] = field(factory=dict, init=False)
    rejected: dict[str, KafkaError] = field(factory=dict, init=False)
    failed: bool = field(default=False, init=False)


class Searches(Protocol):
    """Shell that runs searches."""

    def submit(self, search: Search) -> bool:
        """Start a search, whose end is an event of its group's shard. False: too many run."""

    def rejection_of(self, regex: str) -> KafkaError | None:
        """Return the error of an expression that took too long."""


def matching(regex: str, topics: TopicsByName, earlier: Matches | None) -> Steps[Matches]:
    """Match an expression with the topics, one name in a step.

    known: matches of an earlier search, whose names are not matched again.
    Raises KafkaError(INVALID_REGULAR_EXPRESSION).
    """
    if earlier is not None and earlier.topics is topics:
        return earlier
    fullmatch = compiled(regex).fullmatch
    yield
    names: set[str] = set()
    searched, matched = (
        ({}, frozenset[str]()) if earlier is None else (earlier.topics, earlier.names)
    )
    for name in topics:
        if (name in matched) if name in searched else fullmatch(name):
            names.add(name)
        yield
    return Matches(topics, frozenset(names))
