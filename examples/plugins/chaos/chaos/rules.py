"""Rules as people write them: names and numbers of a file or of a request, and what is wrong with
them.
"""

import json
import re
import tomllib
from collections.abc import Mapping
from math import inf
from typing import Any, Final

from trio_kafka.plugin import ErrorCode, Registry
from trio_kafka.testing.faults import Fault

NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_LONGEST_S: Final = 3600.0
_TEXTS: Final = ("api", "client_id", "topic", "error")
_COUNTS: Final = ("after", "every", "times")
_TIMES: Final = ("from_ms", "until_ms", "throttle_ms")
KEYS: Final = frozenset({"name", "chance", "close", "delay_ms", *_TEXTS, *_COUNTS, *_TIMES})
_LEAST: Final[Mapping[str, int]] = {"after": 0, "every": 1, "times": 1}


class RuleError(ValueError):
    """A rule that is none; the message says why."""


def fault_of(rule: Any, apis: Registry) -> Fault:
    """What a rule says, with the API of that name. Raises RuleError."""
    if not isinstance(rule, dict):
        raise RuleError(f"{type(rule).__name__}, want a table")
    name_of(rule)
    unknown = sorted(set(rule) - KEYS)
    if unknown:
        raise RuleError(f"{unknown[0]!r} is no key: want some of {', '.join(sorted(KEYS))}")
    texts = {key: _text(rule, key) for key in _TEXTS if key in rule}
    counts = {key: _count(rule, key) for key in _COUNTS if key in rule}
    close = rule.get("close", False)
    if not isinstance(close, bool):
        raise RuleError("close: want true or false")
    chance = _number(rule, "chance", 1.0, most=1.0)
    window_s = (_seconds(rule, "from_ms", 0.0), _seconds(rule, "until_ms", inf))
    if window_s[0] >= window_s[1]:
        raise RuleError("from_ms: want less than until_ms")
    fault = Fault(
        api=_api(texts["api"], apis) if "api" in texts else None,
        client_id=texts.get("client_id", "*"),
        topic=texts.get("topic"),
        after=counts.get("after", 0),
        every=counts.get("every", 1),
        times=counts.get("times"),
        chance=chance,
        window_s=window_s,
        delay_s=_delay(rule),
        error=_error(texts["error"]) if "error" in texts else None,
        close=close,
        throttle_s=_seconds(rule, "throttle_ms", 0.0),
    )
    if not (fault.waits or fault.close or fault.error is not None):
        raise RuleError("it does nothing: want delay_ms, error, close or throttle_ms")
    return fault


def name_of(rule: Mapping[str, Any]) -> str:
    """Raises RuleError."""
    name = rule.get("name")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise RuleError(f"name: {name!r}, want 1 to 64 of a-z, 0-9 and -")
    return name


def read_rules(name: str, text: str) -> list[Any]:
    """The rules of a file: `[[rules]]` in TOML, `{"rules": [...]}` in JSON. Raises RuleError."""
    try:
        content = tomllib.loads(text) if name.endswith(".toml") else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RuleError(f"{name}: {error}") from error
    rules = content.get("rules") if isinstance(content, dict) else None
    if not isinstance(rules, list) or set(content) != {"rules"}:
        raise RuleError(f"{name}: want a list of rules, and nothing else")
    return rules


def _text(rule: Mapping[str, Any], key: str) -> str:
    value = rule[key]
    if not isinstance(value, str) or not value:
        raise RuleError(f"{key}: want a text")
    return value


def _count(rule: Mapping[str, Any], key: str) -> int:
    value, least = rule[key], _LEAST[key]
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise RuleError(f"{key}: {value!r}, want a whole number from {least} on")
    return value


def _number(rule: Mapping[str, Any], key: str, default: float, *, most: float) -> float:
    value = rule.get(key, default)
    if key not in rule:
        return default
    return _check(key, value, most)


def _check(key: str, value: Any, most: float) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= most:
        raise RuleError(f"{key}: {value!r}, want 0 to {most:g}")
    return float(value)


def _seconds(rule: Mapping[str, Any], key: str, default: float) -> float:
    return _number(rule, key, default * 1000, most=_LONGEST_S * 1000) / 1000


def _delay(rule: Mapping[str, Any]) -> tuple[float, float]:
    value = rule.get("delay_ms", 0)
    both = value if isinstance(value, list) else [value, value]
    if len(both) != 2:
        raise RuleError("delay_ms: want a number, or from and to")
    least, most = (_check("delay_ms", one, _LONGEST_S * 1000) / 1000 for one in both)
    if least > most:
        raise RuleError("delay_ms: from more than to")
    return least, most


def _error(name: str) -> ErrorCode:
    found = ErrorCode.__members__.get(name)
    if found is None or found is ErrorCode.NONE:
        raise RuleError(f"error: {name!r} is no error of Kafka's")
    return found


def _api(name: str, apis: Registry) -> type[Any]:
    for listed in apis:
        if listed.name == name:
            found = apis.get(listed.key)
            if found is not None:
                return found.request
    raise RuleError(f"api: this broker has no {name!r}")
