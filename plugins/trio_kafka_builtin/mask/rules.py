"""Rules of masking: which fields of which topics' values, and what becomes of them.

    customers-*: ssn=redact email=hash card.number=last:4; orders: buyer.name=redact

A list on the way to a field stands for each of its items; `*` is every field of an object. What
several rules say of a topic all holds.
"""

import hmac
import json
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any, Final

from attrs import frozen

REDACTED: Final = "***"
EVERY: Final = "*"
_LAST: Final = "last:"
How = Callable[[Any], Any]
Path = tuple[str, ...]


@frozen
class Rule:
    """topic: a pattern (`*`, `?`, `[ab]`). fields: paths with the word for what becomes of each."""

    topic: str
    fields: tuple[tuple[Path, str], ...]


def parse_rules(text: str | None) -> tuple[Rule, ...]:
    """Raises ValueError, which says what is wrong where."""
    rules = []
    for part in filter(None, map(str.strip, (text or "").split(";"))):
        topic, colon, fields = part.partition(":")
        if not colon or not topic.strip() or not fields.strip():
            raise ValueError(f"{part!r}: want `topic: field=how ...`")
        rules.append(Rule(topic.strip(), tuple(_field(one) for one in fields.split())))
    return tuple(rules)


def _field(text: str) -> tuple[Path, str]:
    path, equals, how = text.partition("=")
    names = tuple(path.split("."))
    if not equals or "" in names:
        raise ValueError(f"{text!r}: want `field.field=how`")
    number = how.removeprefix(_LAST)
    if how not in ("redact", "hash") and not (how.startswith(_LAST) and number.isdecimal()):
        raise ValueError(f"{text!r}: {how!r} is none of redact, hash, last:<number>")
    return names, how


def hashes(rules: tuple[Rule, ...]) -> bool:
    """Whether a salt is needed."""
    return any(how == "hash" for rule in rules for _, how in rule.fields)


@frozen
class Masking:
    """What is done to the values of one topic. names: one of them stands in each value that has a
    field to mask, unless JSON escapes it; empty: nothing can be told from names.
    """

    fields: tuple[tuple[Path, How], ...]
    names: tuple[bytes, ...]

    def may_concern(self, value: bytes) -> bool:
        """Whether a value may have such a field. Never False for one that has it."""
        if not self.names or b"\\" in value:
            return True
        return any(name in value for name in self.names)

    def apply(self, document: Any) -> bool:
        """Mask the fields of a document, in place. True: there was one."""
        found = False
        for path, how in self.fields:
            found |= _apply(document, path, how)
        return found


def masking_of(rules: tuple[Rule, ...], topic: str, salt: str) -> Masking | None:
    """None: nothing of this topic is masked."""
    fields = tuple(
        (path, _how(how, salt))
        for rule in rules
        if fnmatchcase(topic, rule.topic)
        for path, how in rule.fields
    )
    if not fields:
        return None
    last = [next((name for name in reversed(path) if name != EVERY), "") for path, _ in fields]
    return Masking(fields, () if "" in last else tuple(name.encode() for name in last))


def _apply(document: Any, path: Path, how: How) -> bool:
    found = False
    if isinstance(document, list):
        for item in document:
            found |= _apply(item, path, how)
        return found
    if not isinstance(document, dict):
        return False
    name, rest = path[0], path[1:]
    for key in list(document) if name == EVERY else [name]:
        if key not in document:
            continue
        if rest:
            found |= _apply(document[key], rest, how)
        elif document[key] is not None:
            document[key] = how(document[key])
            found = True
    return found


def _how(word: str, salt: str) -> How:
    if word == "redact":
        return lambda value: REDACTED  # noqa: ARG005
    if word == "hash":
        key = salt.encode()
        return lambda value: hmac.digest(key, _text(value).encode(), "sha256").hex()
    kept = int(word.removeprefix(_LAST))

    def keep_last(value: Any) -> str:
        if isinstance(value, dict | list):
            return REDACTED
        text = _text(value)
        shown = text[len(text) - kept :] if 0 < kept < len(text) else ""
        return EVERY * (len(text) - len(shown)) + shown

    return keep_last


def _text(value: Any) -> str:
    """The same for equal values, whatever the order of their fields."""
    if isinstance(value, str):
        return value
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
