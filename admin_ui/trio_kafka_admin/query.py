"""The query of a page's address."""

from typing import Final, TypeVar
from urllib.parse import parse_qs

from trio_kafka_http.asgi_json import HttpError, read_number

W = TypeVar("W", bound=str)
MOST_ROWS: Final = 5000  # the broker's own limit


class Query:
    """Parameters of a request; the last value of a repeated name counts."""

    def __init__(self, query: bytes) -> None:
        """Parse a percent-encoded query. Raises HttpError if it is not UTF-8."""
        try:
            parsed = parse_qs(query.decode("ascii"), errors="strict", max_num_fields=20)
        except ValueError as error:
            raise HttpError(400, f"the query cannot be decoded: {error}") from None
        self._values = {name: values[-1] for name, values in parsed.items()}

    def text(self, name: str, default: str = "") -> str:
        """Return the value, or the default."""
        return self._values.get(name, default)

    def number(self, name: str, default: int, *, low: int, high: int) -> int:
        """Return an integer. Raises HttpError if it is none or out of bounds."""
        return read_number(self._values, name, default, low=low, high=high)

    def limit(self, default: int) -> int:
        """Return the most rows wanted. Raises HttpError."""
        return self.number("limit", default, low=1, high=MOST_ROWS)

    def one_of(self, name: str, words: tuple[W, ...]) -> W:
        """Return one of these choices; the first by default. Raises HttpError."""
        chosen = self._values.get(name) or words[0]
        for word in words:
            if word == chosen:
                return word
        raise HttpError(400, f"{name}={chosen[:40]!r}: want one of {', '.join(words)}")
