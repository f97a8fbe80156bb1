"""Search of all topic names for the regular expressions of a group, in RE2's syntax."""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode, KafkaError

_SLICE: Final = 500  # topics times expressions in one slice: about 0.9 ms


def compiled(regex: str) -> Any:
    """Return the compiled expression. Raises KafkaError(INVALID_REGULAR_EXPRESSION)."""
    import re2  # noqa: PLC0415 - 3 ms, only for regular expressions

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(regex, options)
    except re2.error as error:
        text = error.args[0] if error.args else error
        reason = text.decode(errors="replace") if isinstance(text, bytes) else str(text)
        raise KafkaError(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {reason}.",
        ) from error


@define(eq=False)
class Search:
    """A search through all topics of one image, for all expressions of a group.

    may_describe: the topics that the member that caused it may describe; None stands for all.
    """

    group_id: str
    names: Iterator[str]
    version: int
    began_ms: int
    patterns: dict[str, Any]
    found: dict[str, list[str]] = field(factory=dict)
    may_describe: Callable[[str], bool] | None = None

    def go_on(self) -> bool:
        """Search some more topics; return True if there are more."""
        names = list(islice(self.names, max(_SLICE // (len(self.patterns) or 1), 1)))
        may_describe = self.may_describe
        for regex, pattern in self.patterns.items():
            matched = filter(pattern.fullmatch, names)
            self.found[regex] += matched if may_describe is None else filter(may_describe, matched)
        return bool(names)
