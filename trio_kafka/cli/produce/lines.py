"""Records from pieces of input: lines with keys and headers, JSON lines, or whole files."""

from collections.abc import Callable, Iterator
from typing import Final

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.cli import FAILED, CommandFailedError
from trio_kafka.cli.records.record_json import Headers, RecordLine

LONGEST: Final = 1 << 26  # bytes of a line; a record that Kafka takes is far smaller


@frozen(kw_only=True)
class LineForm:
    """How a line is read: headers, key and value, in this order, as by Kafka's console producer.

    key_separator, header_separator: None: lines have no key, or no headers. Headers are
    `name=value,name=value`. null: text that stands for a null key or value; None: there is none.
    """

    key_separator: bytes | None = None
    header_separator: bytes | None = None
    null: bytes | None = None

    @property
    def is_plain(self) -> bool:
        """True if a line is a value, whatever it holds."""
        return self.key_separator is None and self.header_separator is None and self.null is None

    def read(self, line: bytes) -> RecordLine:
        """Return the record of a line. Raises ValueError."""
        headers: Headers = ()
        key: bytes | None = None
        if self.header_separator is not None:
            text, separator, line = line.partition(self.header_separator)
            if not separator:
                raise ValueError(f"no header separator {self.header_separator!r} in the line")
            headers = tuple(map(parse_header, text.split(b","))) if text else ()
        if self.key_separator is not None:
            key, separator, line = line.partition(self.key_separator)
            if not separator:
                raise ValueError(f"no key separator {self.key_separator!r} in the line")
        return RecordLine(
            key=None if key == self.null else key,
            value=None if line == self.null else line,
            headers=headers,
        )


def parse_header(text: bytes) -> tuple[str, bytes | None]:
    """Return the header of `name=value`; `name` alone has a null value. Raises ValueError."""
    name, equals, value = text.partition(b"=")
    if not name:
        raise ValueError(f"header {text!r}: want name=value")
    return name.decode(), value if equals else None


@define(eq=False, kw_only=True)
class Lines:
    """Cuts input into lines. source: name of the input, for errors.

    number: of the last line, from 1. A line without a delimiter at its end is a line, too.
    """

    source: str
    delimiter: bytes
    number: int = field(default=0, init=False)
    _rest: bytes = field(default=b"", init=False)

    def split(self, data: bytes) -> list[bytes]:
        """Return the whole lines of what was read so far. Raises CommandFailedError."""
        lines = (self._rest + data if self._rest else data).split(self.delimiter)
        self._rest = lines.pop()
        if len(self._rest) > LONGEST:
            raise CommandFailedError(
                f"{self.source}: line {self.number + len(lines) + 1} has more than"
                f" {LONGEST >> 20} MiB: is --delimiter right?",
                FAILED,
            )
        return lines

    def end(self) -> list[bytes]:
        """Return the last line, if the input does not end with a delimiter."""
        rest, self._rest = self._rest, b""
        return [rest] if rest else []

    def records(
        self, lines: list[bytes], read: Callable[[bytes], RecordLine]
    ) -> Iterator[RecordLine]:
        """Yield the records of lines. Raises CommandFailedError, which names the line."""
        for line in lines:
            self.number += 1
            try:
                record = read(line)
            except ValueError as error:
                raise CommandFailedError(
                    f"{self.source}: line {self.number}: {error}", FAILED
                ) from error
            yield record
