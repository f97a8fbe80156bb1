"""Log events: a few fixed words, and fields.

`get_logger(__name__).info("connection closed", peer=..., reason=...)`. Events go through standard
logging, so a program that embeds a broker sees them with its own handlers. A field that came from
a peer cannot break or forge a line, and its text is cut in the line. Secrets never enter a field.
structlog is not used: where rich is installed it imports that, 150 ms of CPU at each start.
"""

import logging
from collections.abc import Callable, Mapping, MutableMapping
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, TextIO

from trio_kafka.introspect.texts import bounded, shortened
from trio_kafka.strict_json import dump_json

Format = Literal["text", "json"]
FORMATS: Final[tuple[Format, ...]] = ("text", "json")
MARK: Final = "  | "  # prefix of each line of a traceback
LEVELS: Final = ("DEBUG", "INFO", "WARNING", "ERROR")

_LONGEST_PART: Final = 4000  # characters of one field, of the event, of a line of a traceback
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_OF_LOGGING: Final = frozenset({"exc_info", "stack_info", "stacklevel", "extra"})
_OF_RECORD: Final = frozenset({"time", "level", "logger", "event", "exception"})
_PLAIN: Final = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:/[]@,+%#~"
)


class Logger(logging.LoggerAdapter[logging.Logger]):
    """A logger whose methods take fields as keywords (any but `msg` and `level`)."""

    def process(
        self, msg: object, kwargs: MutableMapping[str, object]
    ) -> tuple[object, MutableMapping[str, object]]:
        """Split logging's own keywords from the fields of the event."""
        own = {name: kwargs[name] for name in kwargs if name in _OF_LOGGING}
        fields = {name: value for name, value in kwargs.items() if name not in _OF_LOGGING}
        extra = own.get("extra")
        own["extra"] = {**(extra if isinstance(extra, Mapping) else {}), "fields": fields}
        return msg, own


def get_logger(name: str) -> Logger:
    """Return the logger of a module; name: its `__name__`."""
    return Logger(logging.getLogger(name), {})


def make_handler(kind: Format, wall: Callable[[], float], stream: TextIO) -> logging.Handler:
    """Make a handler that writes one event a line. wall: clock, seconds since 1970."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines(wall) if kind == "json" else TextLines(wall))
    return handler


class TextLines(logging.Formatter):
    """Text for people: time, level, logger, event, fields, then the lines of a traceback.

    Each line of a traceback begins with `MARK`, as it may quote a client; no event begins so.
    """

    def __init__(self, wall: Callable[[], float]) -> None:
        super().__init__()
        self._wall = wall

    def format(self, record: logging.LogRecord) -> str:
        fields = "".join(f" {name}={_shown(value)}" for name, value in fields_of(record).items())
        line = (
            f"{_stamp(self._wall())} {record.levelname:<7} {record.name}: "
            f"{_one_line(_cut(record.getMessage()))}{fields}"
        )
        trace = _exception(self, record)
        if not trace:
            return line
        return "\n".join([line, *(MARK + _one_line(row) for row in trace.split("\n"))])


class JsonLines(logging.Formatter):
    """JSON for machines: one object a line. A field with the name of a fixed member gets a `_`."""

    def __init__(self, wall: Callable[[], float]) -> None:
        super().__init__()
        self._wall = wall

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": _stamp(self._wall()),
            "level": record.levelname,
            "logger": record.name,
            "event": _cut(record.getMessage()),
        }
        for name, value in fields_of(record).items():
            line[f"{name}_" if name in _OF_RECORD else name] = bounded(value)
        trace = _exception(self, record)
        if trace:
            line["exception"] = trace
        return as_json(line)


def fields_of(record: logging.LogRecord) -> Mapping[str, object]:
    """Return the fields of an event; none for an event of another library."""
    fields: Mapping[str, object] = getattr(record, "fields", {})
    return fields


def as_json(value: object) -> str:
    """Return JSON on one line of printable ASCII.

    Terminals interpret some other characters as commands, and readers some as the end of a line.
    """
    text = dump_json(value, default=_text_of, compact=True)
    return text.replace("\x7f", "\\u007f")


def _stamp(seconds: float) -> str:
    # Not by fromtimestamp, which rejects some readings of a simulated clock.
    return f"{(_EPOCH + timedelta(seconds=seconds)):%Y-%m-%dT%H:%M:%S.%f}"[:-3] + "Z"


def _exception(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    if not record.exc_info:
        return ""
    return "\n".join(map(_cut, formatter.formatException(record.exc_info).split("\n")))


def _shown(value: object) -> str:
    text = _cut(str(bounded(value)))
    return text if text and _PLAIN.issuperset(text) else as_json(text)


def _cut(text: str) -> str:
    return shortened(text, _LONGEST_PART)


def _text_of(value: object) -> str:
    return _cut(str(value))


def _one_line(text: str) -> str:
    return text if text.isprintable() else as_json(text)[1:-1]
