"""Fault rules as tables in a file or a request, with checks; and the rules in force, by name.

rules = FaultRules(Faults([], seed), apis, node, most=100)
rules.add({"name": "late", "api": "Produce", "topic": "o-*", "delay_ms": [50, 100]})
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from math import inf
from typing import Any, Final

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.errors import ErrorCode
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.requests.registry import Registry
from trio_kafka.testing.faults import Fault, Faults, Rule

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_LONGEST_S: Final = 3600.0
_SHOWN: Final = 80  # characters of a wrong value
_TEXTS: Final = ("api", "client_id", "topic", "error", "seed")
_LEAST: Final[Mapping[str, int]] = {"after": 0, "every": 1, "times": 1, "partition": 0}
_TIMES: Final = ("from_ms", "until_ms", "throttle_ms")
KEYS: Final = frozenset({"name", "chance", "close", "delay_ms", *_TEXTS, *_LEAST, *_TIMES})


class RuleError(ValueError):
    """Invalid rule; the message names the key and the reason."""


@frozen
class Named:
    """Rule in force: its table, the rule, and its node in the tree."""

    said: Mapping[str, Any]
    rule: Rule
    node: Node

    def shown(self) -> dict[str, Any]:
        """Return the table of the rule with its counts."""
        return {**self.said, "fitted": self.rule.fitted, "done": self.rule.done}


@define(eq=False)
class FaultRules:
    """Rules in force by name, in the order in which they were added.

    apis: APIs that rules may name. most: limit of the number of rules.
    """

    faults: Faults
    apis: Registry
    node: Node
    most: int = field(kw_only=True)
    _named: dict[str, Named] = field(factory=dict, init=False)

    def add(self, said: Any) -> Named:
        """Add a rule. Raises RuleError if it is invalid, its name exists, or there are too many."""
        fault = fault_of(said, self.apis)
        name = name_of(said)
        if name in self._named:
            raise RuleError(
                f"name: a rule {name!r} exists already: remove it, or choose another name"
            )
        if len(self._named) >= self.most:
            raise RuleError(f"there are {self.most} rules, the most allowed: remove one")
        rule, text = self.faults.add(fault), json.dumps(said)

        def figures() -> Figures:
            return {"fitted": rule.fitted, "done": rule.done, "rule": text}

        made = Named(said, rule, self.node.add(name, "part", figures))
        self._named[name] = made
        return made

    def find(self, name: str) -> Named | None:
        """Return the rule of a name, or None."""
        return self._named.get(name)

    def remove(self, name: str) -> bool:
        """Remove a rule; return False if there is none of that name."""
        named = self._named.pop(name, None)
        if named is None:
            return False
        self.faults.remove(named.rule)
        named.node.remove()
        return True

    def clear(self) -> None:
        """Remove all of them."""
        for name in list(self._named):
            self.remove(name)

    def __iter__(self) -> Iterator[Named]:
        return iter(self._named.values())


def fault_of(rule: Any, apis: Registry) -> Fault:
    """Return the fault of a table. Raises RuleError."""
    if not isinstance(rule, dict):
        raise RuleError(f"{type(rule).__name__}, want a table")
    name_of(rule)
    unknown = sorted(set(rule) - KEYS)
    if unknown:
        raise RuleError(f"unknown key {_shown(unknown[0])}: want some of {', '.join(sorted(KEYS))}")
    texts = {key: _text(rule, key) for key in _TEXTS if key in rule}
    counts = {key: _count(rule, key) for key in _LEAST if key in rule}
    close = rule.get("close", False)
    if not isinstance(close, bool):
        raise RuleError(f"close: {_shown(close)}, want true or false")
    window_s = (_seconds(rule, "from_ms", 0.0), _seconds(rule, "until_ms", inf))
    if window_s[0] >= window_s[1]:
        raise RuleError("from_ms: want less than until_ms")
    fault = Fault(
        api=_api(texts["api"], apis) if "api" in texts else None,
        client_id=texts.get("client_id", "*"),
        topic=texts.get("topic"),
        partition=counts.get("partition"),
        after=counts.get("after", 0),
        every=counts.get("every", 1),
        times=counts.get("times"),
        chance=_number(rule, "chance", 1.0, most=1.0),
        seed=texts.get("seed"),
        window_s=window_s,
        delay_s=_delay(rule),
        error=_error(texts["error"]) if "error" in texts else None,
        close=close,
        throttle_s=_seconds(rule, "throttle_ms", 0.0),
    )
    if not (fault.waits or fault.close or fault.error is not None):
        raise RuleError("the rule has no effect: want delay_ms, error, close or throttle_ms")
    return fault


def name_of(rule: Mapping[str, Any]) -> str:
    """Return the name of a rule's table. Raises RuleError."""
    name = rule.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise RuleError(f"name: {_shown(name)}, want 1 to 64 of a-z, 0-9 and -")
    return name


def read_rules(name: str, text: str) -> list[Any]:
    """Return the tables of a file: `[[rules]]` in TOML, `{"rules": [...]}` in JSON.

    Raises RuleError.
    """
    try:
        content = tomllib.loads(text) if name.endswith(".toml") else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RuleError(f"{name}: {error}") from error
    rules = content.get("rules") if isinstance(content, dict) else None
    if not isinstance(rules, list) or set(content) != {"rules"}:
        raise RuleError(f"{name}: want a list `rules` and nothing else")
    return rules


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _text(rule: Mapping[str, Any], key: str) -> str:
    value = rule[key]
    if not isinstance(value, str) or not value:
        raise RuleError(f"{key}: {_shown(value)}, want a string that is not empty")
    return value


def _count(rule: Mapping[str, Any], key: str) -> int:
    value, least = rule[key], _LEAST[key]
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise RuleError(f"{key}: {_shown(value)}, want a whole number of at least {least}")
    return value


def _number(rule: Mapping[str, Any], key: str, default: float, *, most: float) -> float:
    return _check(key, rule[key], most) if key in rule else default


def _check(key: str, value: Any, most: float) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= most:
        raise RuleError(f"{key}: {_shown(value)}, want 0 to {most:g}")
    return float(value)


def _seconds(rule: Mapping[str, Any], key: str, default: float) -> float:
    return _number(rule, key, default * 1000, most=_LONGEST_S * 1000) / 1000


def _delay(rule: Mapping[str, Any]) -> tuple[float, float]:
    value = rule.get("delay_ms", 0)
    both = value if isinstance(value, list) else [value, value]
    if len(both) != 2:
        raise RuleError(f"delay_ms: {_shown(value)}, want a number, or from and to")
    least, most = (_check("delay_ms", one, _LONGEST_S * 1000) / 1000 for one in both)
    if least > most:
        raise RuleError("delay_ms: from more than to")
    return least, most


def _error(name: str) -> ErrorCode:
    found = ErrorCode.__members__.get(name)
    if found is None or found is ErrorCode.NONE:
        raise RuleError(f"error: {_shown(name)} is not the name of a Kafka error")
    return found


def _api(name: str, apis: Registry) -> type[Any]:
    for listed in apis:
        if listed.name == name:
            found = apis.get(listed.key)
            if found is not None:
                return found.request
    raise RuleError(f"api: this broker has no {_shown(name)}")
