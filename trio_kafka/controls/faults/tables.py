"""Fault rules as tables: in a JSON request, on the command line, in a file of TOML or JSON.

    rule_of({"api": "Produce", "topic": "o-*", "error": "NOT_LEADER_OR_FOLLOWER"}, apis)

The keys are the fields of `FaultRule`, except `where`. An error is given by name or number, a range
as a list, a response as Kafka's JSON form of the message with our field names.
"""

import re
import sys
import tomllib
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from math import inf
from typing import Any, Final

from attrs import fields

from trio_kafka.controls.faults.parts import api_name
from trio_kafka.controls.faults.rule import FaultRule
from trio_kafka.controls.faults.rule_values import RuleError, error_of
from trio_kafka.errors import ErrorCode
from trio_kafka.requests.registry import Registry
from trio_kafka.strict_json import parse_json

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_LARGEST: Final = sys.float_info.max
_SHOWN: Final = 80  # characters of a wrong value
# Keys of earlier versions, and what to write instead.
_RENAMED: Final[Mapping[str, str]] = {
    "chance": "probability",
    "close": 'disconnect = "before"',
    "delay_ms": "delay_s, in seconds",
    "throttle_ms": "throttle_s, in seconds",
    "from_ms": "window_s = [begin, end], in seconds",
    "until_ms": "window_s = [begin, end], in seconds",
}
_NOT_IN_TABLES: Final = "where"


def rule_of(table: object, apis: Registry) -> FaultRule:
    """Return the rule of a table. apis: of the broker. Raises RuleError."""
    if not isinstance(table, dict):
        raise RuleError(f"{_shown(table)}, want a table of {', '.join(KEYS)}")
    for key in table:
        _check_key(key)
    values = {key: _READ[key](key, value) for key, value in table.items() if key != "respond"}
    if "respond" in table:
        values["respond"] = _response(table["respond"], values.get("api"), apis)
    return FaultRule(**values)


def rules_of(name: str, text: str, apis: Registry) -> list[FaultRule]:
    """Return the rules of a file: `[[rules]]` in TOML, `{"rules": [...]}` in JSON.

    Raises RuleError.
    """
    try:
        content = tomllib.loads(text) if name.endswith(".toml") else parse_json(text)
    except ValueError as error:
        raise RuleError(f"{name}: {error}") from error
    tables = content.get("rules") if isinstance(content, dict) else None
    if not isinstance(tables, list) or set(content) != {"rules"}:
        raise RuleError(f"{name}: want a list `rules` and nothing else")
    rules: list[FaultRule] = []
    for number, table in enumerate(tables, 1):
        try:
            rules.append(rule_of(table, apis))
        except RuleError as error:
            raise RuleError(f"{name}: rule {number}: {error}") from error
    return rules


def table_of(rule: FaultRule) -> dict[str, object]:
    """Return the table of a rule: its fields that are not the default, as JSON types."""
    table: dict[str, object] = {}
    for field in fields(FaultRule):
        value = getattr(rule, field.name)
        if value != field.default:
            table[field.name] = _readable(field.name, value)
    return table


def _readable(name: str, value: object) -> object:
    if isinstance(value, tuple | list):
        return [_readable(name, item) for item in value if item != inf]
    if isinstance(value, ErrorCode):
        return value.name
    if isinstance(value, type):
        return api_name(value)
    if callable(value):
        return getattr(value, "__qualname__", repr(value))
    if name != "respond":
        return value
    from trio_kafka.protocol.json_data import to_data  # noqa: PLC0415 - 30 ms, for few rules

    return to_data(value)


def _check_key(key: str) -> None:
    if key in _RENAMED:
        raise RuleError(f"{key}: write {_RENAMED[key]}")
    if key in _READ or key == "respond":
        return
    if key == _NOT_IN_TABLES:
        raise RuleError("where: a function, so only Python can give it")
    near = get_close_matches(str(key), KEYS, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]!r}?" if near else f": want some of {', '.join(KEYS)}"
    raise RuleError(f"unknown field {_shown(key)}{hint}")


# --- values


def _name(key: str, value: object) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise RuleError(f"{key}: {_shown(value)}, want 1 to 64 of a-z, 0-9 and -")
    return value


def _text(key: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise RuleError(f"{key}: {_shown(value)}, want a string that is not empty")
    return value


def _whole(key: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise RuleError(f"{key}: {_shown(value)}, want a whole number")
    return value


def _number(key: str, value: object) -> float:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not -_LARGEST <= value <= _LARGEST
    ):
        raise RuleError(f"{key}: {_shown(value)}, want a number")
    return float(value)


def _true(key: str, value: object) -> bool:
    if value is not True:
        raise RuleError(f"{key}: {_shown(value)}, want true, or leave it out")
    return True


def _apis(key: str, value: object) -> object:
    several = value if isinstance(value, list) else [value]
    for name in several:
        if isinstance(name, bool) or not isinstance(name, str | int):
            raise RuleError(f"{key}: {_shown(name)}, want the name or the key of an API")
    return tuple(several) if isinstance(value, list) else value


def _version(key: str, value: object) -> int | tuple[int, int]:
    if not isinstance(value, list):
        return _whole(key, value)
    if len(value) != 2:
        raise RuleError(f"{key}: {_shown(value)}, want a version, or the first and the last")
    return _whole(key, value[0]), _whole(key, value[1])


def _delay(key: str, value: object) -> float | tuple[float, float]:
    if not isinstance(value, list):
        return _number(key, value)
    if len(value) != 2:
        raise RuleError(f"{key}: {_shown(value)}, want a number, or the least and the most")
    return _number(key, value[0]), _number(key, value[1])


def _window(key: str, value: object) -> tuple[float, float]:
    if not isinstance(value, list) or not 1 <= len(value) <= 2:
        raise RuleError(f"{key}: {_shown(value)}, want [begin] or [begin, end]")
    return _number(key, value[0]), _number(key, value[1]) if len(value) == 2 else inf


def _error(_: str, value: Any) -> ErrorCode | None:
    return error_of(value)


def _response(value: object, api: object, apis: Registry) -> object:
    """Return the response message of a table."""
    from trio_kafka.protocol.json_data import from_data  # noqa: PLC0415 - 30 ms, for few rules

    several = api if isinstance(api, tuple) else (api,)
    apis_of_rule = [
        apis.get(key) for key, name in apis.names.items() if (key in several or name in several)
    ]
    if len(several) != 1 or not apis_of_rule or apis_of_rule[0] is None:
        raise RuleError("respond: needs `api`, one that the broker serves")
    try:
        return from_data(apis_of_rule[0].response, value)
    except ValueError as error:
        raise RuleError(f"respond: {error}") from error


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


_READ: Final[Mapping[str, Callable[[str, Any], Any]]] = {
    "name": _name,
    "api": _apis,
    "version": _version,
    "client_id": _text,
    "principal": _text,
    "listener": _text,
    "topic": _text,
    "partition": _whole,
    "group": _text,
    "transactional_id": _text,
    "window_s": _window,
    "error": _error,
    "drop": _true,
    "disconnect": _text,
    "delay_s": _delay,
    "hold": _true,
    "throttle_s": _number,
    "corrupt": _text,
    "observe": _true,
    "after": _whole,
    "every": _whole,
    "times": _whole,
    "probability": _number,
    "seed": _text,
}
KEYS: Final = (*_READ, "respond")
"""Keys of a table."""
