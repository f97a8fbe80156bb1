"""What the address of a page asks for."""

from typing import Final
from urllib.parse import parse_qs

from trio_kafka_builtin.answers import HttpError, read_number

MOST_ROWS: Final = 5000  # as the broker gives at most


class Query:
    """Of a request; of a name that is given twice the last counts."""

    def __init__(self, query: bytes) -> None:
        """query: percent-encoded. Raises HttpError where it is no text."""
        try:
            given = parse_qs(query.decode("ascii"), errors="strict", max_num_fields=20)
        except ValueError as error:
            raise HttpError(400, f"the query cannot be read: {error}") from None
        self._values = {name: values[-1] for name, values in given.items()}

    def text(self, name: str, default: str = "") -> str:
        """What is given, or the default."""
        return self._values.get(name, default)

    def number(self, name: str, default: int, *, low: int, high: int) -> int:
        """Raises HttpError for what is none, or beyond its bounds."""
        return read_number(self._values, name, default, low=low, high=high)

    def limit(self, default: int) -> int:
        """The most rows that are wanted. Raises HttpError."""
        return self.number("limit", default, low=1, high=MOST_ROWS)

    def one_of(self, name: str, words: tuple[str, ...]) -> str:
        """One of these; the first where nothing is given. Raises HttpError."""
        found = self._values.get(name) or words[0]
        if found not in words:
            raise HttpError(400, f"{name}={found[:40]!r}: want one of {', '.join(words)}")
        return found
