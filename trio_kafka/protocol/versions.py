"""Version sets in Kafka's notation: `3`, `0-5`, `2+` and `none`."""

from typing import Final

Range = tuple[int, int]  # first and last, both inclusive; empty if last < first

LAST: Final = 32767  # a version is an int16
ALWAYS: Final[Range] = (0, LAST)
NEVER: Final[Range] = (0, -1)


def parse_versions(text: str) -> Range:
    """Return the range that `text` names. Raises ValueError."""
    if text == "none":
        return NEVER
    first, dash, last = text.partition("-")
    if first.endswith("+") and not dash:
        versions = int(first[:-1]), LAST
    else:
        versions = int(first), int(last) if dash else int(first)
    if not 0 <= versions[0] <= versions[1] <= LAST:
        raise ValueError(f"versions {text!r}: want 'N', 'N-M', 'N+' or 'none'")
    return versions


def covers(versions: Range, version: int) -> bool:
    """Return True if `version` is in the range."""
    return versions[0] <= version <= versions[1]


def show_versions(versions: Range) -> str:
    """Return the text of a range; inverse of `parse_versions`."""
    first, last = versions
    if last < first:
        return "none"
    if last == LAST:
        return f"{first}+"
    return str(first) if first == last else f"{first}-{last}"
