"""Java properties files: `name=value` lines with comments, escapes and continuations.

Source: the line format of java.util.Properties; the text is Latin-1, other characters are
`\\uXXXX`. A repeated name has its last value, as in Kafka.
"""

from collections.abc import Iterator
from typing import Final

from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka.config.setting import ConfigError

_SPACE: Final = " \t\f"
_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_HEX: Final = frozenset("0123456789abcdefABCDEF")


@frozen
class SettingText:
    """Text of a setting, and its place: `file:line`, or a command's option.

    written: the text before a provider looked it up; only this is shown then.
    """

    text: str = field(repr=False)  # it may be a secret
    where: str
    written: str | None = None


def parse_properties(text: str, file: str) -> dict[str, SettingText]:
    """Return the settings of a file by name. Raises ConfigError with file and line."""
    return dict(iterate_properties(text, file))


def iterate_properties(text: str, file: str) -> Iterator[tuple[str, SettingText]]:
    """Yield the settings of a file in order; a name may repeat. Raises ConfigError."""
    for number, line in _logical_lines(text):
        where = f"{file}:{number}"
        name_end, value_start = _split(line)
        name = _unescape(line[:name_end], where)
        if not name:
            # The value is not told: it may be a secret.
            raise ConfigError("line", "has a value without a name: want name=value", where)
        yield name, SettingText(_unescape(line[value_start:], where, name), where)


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines with their first number, joined after an odd number of backslashes."""
    parts: list[str] = []
    first = 0
    for number, natural in enumerate(_natural_lines(text), 1):
        line = natural.lstrip(_SPACE)
        if not parts:
            if not line or line[0] in "#!":
                continue
            first = number
        trailing = len(line) - len(line.rstrip("\\"))
        if trailing % 2:
            parts.append(line[:-1])
            continue
        yield first, "".join([*parts, line])
        parts = []
    if parts and any(parts):
        yield first, "".join(parts)


def _natural_lines(text: str) -> list[str]:
    # Not splitlines: it also ends lines at form feeds and other separators.
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _split(line: str) -> tuple[int, int]:
    """Return the end of the name and the start of the value: at white space, `=` or `:`."""
    end = 0
    while end < len(line) and line[end] not in _SPACE and line[end] not in "=:":
        end += 2 if line[end] == "\\" else 1
    end = min(end, len(line))
    start = end
    while start < len(line) and line[start] in _SPACE:
        start += 1
    if start < len(line) and line[start] in "=:":
        start += 1
        while start < len(line) and line[start] in _SPACE:
            start += 1
    return end, start


def _unescape(text: str, where: str, name: str = "name") -> str:
    if "\\" not in text:
        return text
    out: list[str] = []
    position = 0
    while position < len(text):
        char = text[position]
        position += 1
        if char == "\\" and position < len(text):
            char = text[position]
            position += 1
            if char == "u":
                digits = text[position : position + 4]
                if len(digits) < 4 or not _HEX.issuperset(digits):
                    reason = "has \\u without four hexadecimal digits"
                    raise ConfigError(name, reason, where)
                char = chr(int(digits, 16))
                position += 4
            else:
                char = _ESCAPES.get(char, char)
        out.append(char)
    # A pair of escapes is one character beyond the first plane.
    return "".join(out).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
