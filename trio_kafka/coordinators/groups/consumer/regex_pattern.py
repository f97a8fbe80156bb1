"""Regular expressions of subscriptions, in RE2's syntax, with bounds on what one may cost.

RE2 takes time in proportion to its program and the text, so it is the program that a client must
not choose freely. It compiles under the interpreter's lock, so the loop waits for it: the size of
an expression is checked before, and `_MAX_MEMORY` ends a compilation that grows large. Figures of
600 random expressions within the bounds: 14 ms at most to compile, mostly below 0.1 ms.
"""

from typing import Final, Protocol

from trio_kafka.errors import ErrorCode, KafkaError

_MAX_LENGTH: Final = 10_000  # characters; more than 200 names, one beside the other
# RE2 compiles some operators in quadratic time: 500 take 2 ms, 5,000 take 180.
_MAX_OPERATORS: Final = 500
_MAX_COUNTED: Final = 20  # `a{1000}` takes 0.3 ms: RE2 writes it out a thousand times
_MAX_UNICODE_CLASSES: Final = 4  # `\PL` takes 1 ms; topic names are ASCII
# Bytes of the compiled program and of its states. The program has at most 11,000 instructions.
_MAX_MEMORY: Final = 256 << 10


class Pattern(Protocol):
    """Expression that RE2 has compiled. programsize: its instructions."""

    @property
    def programsize(self) -> int: ...

    def fullmatch(self, text: str) -> object:
        """Return a match of the whole text, or None."""

    def search(self, text: str | bytes) -> object:
        """Return the first match within the text, or None."""


def compiled(regex: str) -> Pattern:
    """Return the compiled expression.

    Raises KafkaError(INVALID_REGULAR_EXPRESSION) if it is invalid or too large. The last 128
    expressions are cached, by RE2's own module.
    """
    _check_size(regex)
    import re2  # noqa: PLC0415 - 3 ms, only for regular expressions

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True  # finding groups takes longer than matching
    options.max_mem = _MAX_MEMORY
    try:
        pattern: Pattern = re2.compile(regex, options)
    except re2.error as error:
        text = error.args[0] if error.args else error
        reason = text.decode(errors="replace") if isinstance(text, bytes) else str(text)
        raise rejection(regex, reason) from error
    return pattern


def rejection(regex: str, reason: str) -> KafkaError:
    """Return the error for an expression, as a value."""
    return KafkaError(
        ErrorCode.INVALID_REGULAR_EXPRESSION,
        f"SubscribedTopicRegex `{shown(regex)}` is not a valid regular expression: {reason}.",
    )


def _check_size(regex: str) -> None:
    """Raise KafkaError for an expression that is too large. Escaped operators count, too."""
    for count, most, unit in (
        (len(regex), _MAX_LENGTH, "characters"),
        (sum(map(regex.count, "?*+(")), _MAX_OPERATORS, "operators and groups"),
        (regex.count("{"), _MAX_COUNTED, "counted repetitions"),
        (regex.count(r"\p") + regex.count(r"\P"), _MAX_UNICODE_CLASSES, "Unicode classes"),
    ):
        if count > most:
            raise rejection(regex, f"it has {count} {unit}, expected at most {most}")


def shown(regex: str) -> str:
    """Return the beginning of an expression, for logs and answers."""
    return regex if len(regex) <= 200 else f"{regex[:200]}…"
