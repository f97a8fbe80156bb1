"""Where a read begins: the option `--offset`, and `--since`."""

from trio_kafka.attributes import frozen
from trio_kafka.cli import CommandFailedError


@frozen(kw_only=True)
class Start:
    """Where to begin. Exactly one of these is not None, or none of them: at the first record.

    offset: absolute. last: so many records before the end of each partition; 0: at the end.
    time_ms: at the first record at or after a time.
    """

    offset: int | None = None
    last: int | None = None
    time_ms: int | None = None


def parse_offset(text: str) -> Start:
    """Return the start for `earliest`, `latest`, an offset, or -N. Raises CommandFailedError."""
    if text in {"earliest", "beginning"}:
        return Start()
    if text in {"latest", "end"}:
        return Start(last=0)
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or int(digits) >= 1 << 63:
        raise CommandFailedError(
            f"--offset {text}: want earliest, latest, an offset, or -N for the last N records"
        )
    return Start(last=int(digits)) if text.startswith("-") else Start(offset=int(text))
