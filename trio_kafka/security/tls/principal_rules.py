"""`ssl.principal.mapping.rules`: names of client certificates to names of principals (KIP-371).

`RULE:pattern/replacement/[LU]` rules and DEFAULT, in order; the first whose pattern matches the
whole name decides. Patterns are regular expressions of Python, which those of Java resemble.
Source: SslPrincipalMapper of Apache Kafka 4.4.0.
"""

import re
from collections.abc import Callable
from typing import Final

from trio_kafka.attributes import frozen

_RULE: Final = (
    r"(?P<default>DEFAULT)"
    r"|RULE:(?P<pattern>(?:\\.|[^\\/])*)/(?P<replacement>(?:\\.|[^\\/])*)/(?P<case>[LU]?).*?"
    r"|(?P<rest>.*?)"
)
_SPLITTER: Final = re.compile(rf"\s*(?:{_RULE})\s*(?:,\s*|$)")
_REFERENCE: Final = re.compile(r"\\(?P<literal>.)|\$(?P<number>\d)|\$\{(?P<name>\w+)\}")


class NoMatchingRuleError(Exception):
    """No rule applies to a name."""


@frozen
class _Rule:
    """pattern: None: DEFAULT."""

    pattern: re.Pattern[str] | None
    replacement: str = ""
    case: Callable[[str], str] = str

    def apply(self, name: str) -> str | None:
        if self.pattern is None:
            return name
        if self.pattern.fullmatch(name) is None:
            return None
        return self.case(self.pattern.sub(self._expand, name))

    def _expand(self, match: re.Match[str]) -> str:
        def value(reference: re.Match[str]) -> str:
            if (literal := reference["literal"]) is not None:
                return literal
            if (group := reference["name"]) is not None:
                return match[group] or ""
            number = int(reference["number"])
            if number > match.re.groups:
                return reference[0]  # as in Kafka, a reference to no group stands for itself
            return match[number] or ""

        return _REFERENCE.sub(value, self.replacement)


class PrincipalRules:
    """Rules of `ssl.principal.mapping.rules`. Raises ValueError for an invalid text."""

    def __init__(self, text: str = "DEFAULT") -> None:
        self._rules = [rule for match in _SPLITTER.finditer(text.strip()) for rule in _parse(match)]

    def name_of(self, distinguished_name: str) -> str:
        """Return the name of a principal. Raises NoMatchingRuleError."""
        for rule in self._rules:
            name = rule.apply(distinguished_name)
            if name is not None:
                return name
        raise NoMatchingRuleError(f"no rule applies to {distinguished_name!r}")


def _parse(match: re.Match[str]) -> list[_Rule]:
    if match["default"]:
        return [_Rule(None)]
    if match["pattern"] is None:
        if match["rest"]:
            raise ValueError(f"{match['rest']!r} is no rule: want DEFAULT or RULE:pattern/name/")
        return []  # empty rules are ignored
    written = match[0].strip().removesuffix(",").strip()
    if written != f"RULE:{match['pattern']}/{match['replacement']}/{match['case']}":
        raise ValueError(f"{written!r} is no rule: want RULE:pattern/name/, then L, U or nothing")
    try:
        pattern = re.compile(match["pattern"])
    except re.error as error:
        raise ValueError(f"{match['pattern']!r} is not a regular expression: {error}") from None
    case = {"L": str.lower, "U": str.upper}.get(match["case"], str)
    return [_Rule(pattern, match["replacement"], case)]
