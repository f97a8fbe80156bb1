"""Values of the checkers: the log with which a history is compared, and a violation."""

from collections.abc import Hashable, Mapping

from trio_kafka.attributes import frozen
from trio_kafka.model import TopicPartition

# Records by offset, read from start to end when the clients of the history had stopped.
Log = Mapping[TopicPartition, Mapping[int, Hashable]]


@frozen(kw_only=True)
class Violation:
    """A broken promise: the rule, the partition, the offsets concerned, and a sentence."""

    rule: str
    partition: TopicPartition
    offsets: tuple[int, ...]
    text: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.text}"


def shown(record: Hashable) -> str:
    """Return a record for a sentence, cut at 60 characters."""
    text = repr(record)
    return text if len(text) <= 60 else f"{text[:60]}..."


def extent(records: Mapping[int, Hashable]) -> str:
    """Return the range of offsets of a log for a sentence."""
    if not records:
        return "the log is empty"
    return f"the log has {min(records)} to {max(records)}"
