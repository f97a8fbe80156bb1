"""Topics and partitions of a read: subscribe, subscribePattern or assign.

A pattern is Java's, as in Spark's own Kafka connector, and need only be found in a topic's name:
`order` chooses `old-orders`, too. What Python's `re` spells otherwise is translated; what it lacks
is refused.
"""

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.model import TopicPartition
from trio_kafka_spark.client.errors import OptionError
from trio_kafka_spark.source.offsets import parse_partitions

TOPIC_OPTIONS: Final = ("subscribe", "subscribePattern", "assign")
_CLASSES: Final[Mapping[str, str]] = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Space": r"\s",
    "Punct": re.escape("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"),
}
# A quoted part, a class by name, a named group, the end of the text, any other escape, a bracket.
_JAVA: Final = re.compile(
    r"\\Q(?P<quoted>.*?)(?:\\E|$)|\\p\{(?P<name>\w+)\}|\(\?<(?P<group>[a-zA-Z]\w*)>|(?P<end>\\z)"
    r"|\\.|(?P<both>&&)|(?P<bracket>[\[\]])",
    re.DOTALL,
)


@frozen(kw_only=True)
class Topics:
    """The partitions that a read chooses: all of the `names`, of what matches, or exactly some."""

    names: tuple[str, ...] = ()
    pattern: str | None = None
    partitions: tuple[TopicPartition, ...] = ()

    @property
    def named(self) -> tuple[str, ...]:
        """Return the topics that the options name; none for a pattern."""
        return self.names or tuple(sorted({tp.topic for tp in self.partitions}))

    def chosen(self, partitions_of: Mapping[str, Sequence[int]]) -> set[TopicPartition]:
        """Return the partitions to read of those that the cluster has, by topic."""
        topics = partitions_of
        if self.pattern is not None:
            pattern = compiled(self.pattern)
            topics = {name: ids for name, ids in partitions_of.items() if pattern.search(name)}
        every = {TopicPartition(name, each) for name, ids in topics.items() for each in ids}
        return every.intersection(self.partitions) if self.partitions else every


def parse_topics(option: Callable[[str], str | None]) -> Topics:
    """Parse the one of `subscribe`, `subscribePattern`, `assign` that is set.

    Raises OptionError if none or several are set.
    """
    named = [name for name in TOPIC_OPTIONS if option(name) is not None]
    if len(named) != 1:
        names = "none" if not named else " and ".join(named)
        raise OptionError(
            "subscribe", f"found {names}; expected exactly one of {', '.join(TOPIC_OPTIONS)}"
        )
    (name,) = named
    value = option(name) or ""
    if name == "subscribe":
        topics = tuple(dict.fromkeys(part.strip() for part in value.split(",") if part.strip()))
        if not topics:
            raise OptionError(name, f"found {value!r}; expected topics, separated by commas")
        return Topics(names=topics)
    if name == "subscribePattern":
        compiled(value.strip())
        return Topics(pattern=value.strip())
    try:
        partitions = parse_partitions(value)
    except ValueError as error:
        raise OptionError(name, str(error)) from None
    if not partitions:
        raise OptionError(name, f"found {value!r}, which names no partition")
    return Topics(partitions=tuple(partitions))


def compiled(pattern: str) -> re.Pattern[str]:
    """Return a regular expression of Java's as one of Python's. OptionError: there is none."""
    if not pattern:
        raise OptionError("subscribePattern", "found nothing; expected a regular expression")
    depth = 0

    def translated(match: re.Match[str]) -> str:
        nonlocal depth
        if match["quoted"] is not None:
            return re.escape(match["quoted"])
        if match["name"] is not None:
            inside = _CLASSES.get(match["name"])
            if inside is None:
                raise re.error(f"the class {match[0]} is not supported", pattern)
            return inside if depth else f"[{inside}]"
        if match["group"] is not None:
            return f"(?P<{match['group']}>"
        if match["end"] is not None:
            return r"\Z"
        if match["bracket"] is not None:
            depth += 1 if match["bracket"] == "[" else -1 if depth else 0
            if depth > 1:
                raise re.error("a class within a class is not supported", pattern)
        if match["both"] is not None and depth:
            raise re.error("the intersection && is not supported", pattern)
        return match[0]

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            return re.compile(_JAVA.sub(translated, pattern))
    except re.error as error:
        raise OptionError(
            "subscribePattern", f"found {pattern!r}, which is no regular expression: {error}"
        ) from None
