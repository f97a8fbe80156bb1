"""Masking rules: topic patterns, fields and the operation on each.

    customers-*: ssn=redact email=hash card.number=last:4; orders: buyer.name=redact

A list on the path applies to each of its items; `*` is every field of an object. All rules that
match a topic apply.
"""

import hmac
import json
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Final

from attrs import frozen

REDACTED: Final = "***"
EVERY: Final = "*"
_LAST: Final = "last:"
How = Callable[[object], object]
Path = tuple[str, ...]


@frozen
class Rule:
    """Fields to mask in some topics.

    topic: a pattern (`*`, `?`, `[ab]`). fields: paths, each with its operation.
    """

    topic: str
    fields: tuple[tuple[Path, str], ...]


def parse_rules(text: str | None) -> tuple[Rule, ...]:
    """Parse rules. Raises ValueError that names the rule."""
    rules = []
    for part in filter(None, map(str.strip, (text or "").split(";"))):
        topic, colon, fields = part.partition(":")
        if not colon or not topic.strip() or not fields.strip():
            raise ValueError(f"{part!r}: want `topic: field=how ...`")
        rules.append(Rule(topic.strip(), tuple(_field(field) for field in fields.split())))
    return tuple(rules)


def _field(text: str) -> tuple[Path, str]:
    path, equals, how = text.partition("=")
    names = tuple(path.split("."))
    if not equals or "" in names:
        raise ValueError(f"{text!r}: want `field.field=how`")
    number = how.removeprefix(_LAST)
    if how not in ("redact", "hash") and not (how.startswith(_LAST) and number.isdecimal()):
        raise ValueError(f"{text!r}: {how!r} is not redact, hash or last:<number>")
    return names, how


def hashes(rules: tuple[Rule, ...]) -> bool:
    """True if a rule hashes and needs a salt."""
    return any(how == "hash" for rule in rules for _, how in rule.fields)


@frozen
class Masking:
    """Masking of one topic's values. names: each value with a field to mask contains one of them,
    unless JSON escapes it; empty: unknown.
    """

    fields: tuple[tuple[Path, How], ...]
    names: tuple[bytes, ...]

    def may_concern(self, value: bytes) -> bool:
        """Return False only if a value certainly has no field to mask."""
        if not self.names or b"\\" in value:
            return True
        return any(name in value for name in self.names)

    def apply(self, document: object) -> bool:
        """Mask the fields of a document, in place; True if there was one."""
        changed = False
        for path, how in self.fields:
            changed |= _apply(document, path, how)
        return changed


def masking_of(rules: tuple[Rule, ...], topic: str, salt: str) -> Masking | None:
    """Return the masking of a topic; None: no rule matches."""
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


def _apply(document: object, path: Path, how: How) -> bool:
    changed = False
    if isinstance(document, list):
        for item in document:
            changed |= _apply(item, path, how)
        return changed
    if not isinstance(document, dict):
        return False
    name, rest = path[0], path[1:]
    for key in list(document) if name == EVERY else [name]:
        if key not in document:
            continue
        if rest:
            changed |= _apply(document[key], rest, how)
        elif document[key] is not None:
            document[key] = how(document[key])
            changed = True
    return changed


def _how(word: str, salt: str) -> How:
    if word == "redact":
        return lambda value: REDACTED  # noqa: ARG005
    if word == "hash":
        key = salt.encode()
        return lambda value: hmac.digest(key, _text(value).encode(), "sha256").hex()
    kept = int(word.removeprefix(_LAST))

    def keep_last(value: object) -> str:
        if isinstance(value, dict | list):
            return REDACTED
        text = _text(value)
        shown = text[len(text) - kept :] if 0 < kept < len(text) else ""
        return EVERY * (len(text) - len(shown)) + shown

    return keep_last


def _text(value: object) -> str:
    """Return a canonical text, independent of the order of fields."""
    if isinstance(value, str):
        return value
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
