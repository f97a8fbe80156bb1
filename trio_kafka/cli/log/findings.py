"""Findings of `trio-kafka log verify`: what is wrong or odd in a file, and where."""

from enum import StrEnum
from pathlib import Path

from trio_kafka.attributes import frozen


class Level(StrEnum):
    """Level of a finding. ERROR: damage. WARNING: a broker handles it, or it may be intended."""

    ERROR = "error"
    WARNING = "warning"


@frozen(kw_only=True)
class Finding:
    """One finding. position: byte in the file. offset: of the log. None: not about one."""

    level: Level
    path: Path
    text: str
    position: int | None = None
    offset: int | None = None

    def as_data(self) -> dict[str, object]:
        """Return its fields for JSON."""
        return {
            "is": "finding",
            "level": str(self.level),
            "path": str(self.path),
            "position": self.position,
            "offset": self.offset,
            "text": self.text,
        }

    def as_text(self) -> str:
        """Return one line."""
        where = "" if self.position is None else f" at position {self.position}"
        where += "" if self.offset is None else f", offset {self.offset}" if where else ""
        if not where and self.offset is not None:
            where = f" at offset {self.offset}"
        return f"{self.level}: {self.path}{where}: {self.text}"


def error(
    path: Path, text: str, position: int | None = None, *, offset: int | None = None
) -> Finding:
    """Make a finding of damage."""
    return Finding(level=Level.ERROR, path=path, text=text, position=position, offset=offset)


def warning(
    path: Path, text: str, position: int | None = None, *, offset: int | None = None
) -> Finding:
    """Make a finding that is no damage."""
    return Finding(level=Level.WARNING, path=path, text=text, position=position, offset=offset)
