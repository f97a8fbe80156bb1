"""Rules as tables in JSON, TOML and files."""

import json
from math import inf
from typing import Any

import pytest

from trio_kafka.controls.faults import FaultRule, RuleError
from trio_kafka.controls.faults.tables import KEYS, rule_of, rules_of, table_of
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsResponse
from trio_kafka.requests.registry import Registry
from trio_kafka_apis import k00_produce, k18_api_versions

ALL: dict[str, Any] = {
    "name": "all",
    "api": ["Produce", 1],
    "version": [3, 9],
    "client_id": "c-*",
    "principal": "User:a*",
    "listener": "SSL",
    "topic": "o-*",
    "partition": 3,
    "group": "g",
    "transactional_id": "x",
    "window_s": [0.5, 1.5],
    "delay_s": [0.1, 0.2],
    "error": "NOT_LEADER_OR_FOLLOWER",
    "after": 1,
    "every": 2,
    "times": 4,
    "probability": 0.25,
    "seed": "s",
}


def apis() -> Registry:
    registry = Registry()
    registry.add_module(k00_produce)
    registry.add_module(k18_api_versions)
    return registry


def test_table_with_all_conditions_and_triggers_becomes_the_rule() -> None:
    rule = rule_of(ALL, apis())

    assert rule == FaultRule(
        name="all",
        api=("Produce", 1),
        version=(3, 9),
        client_id="c-*",
        principal="User:a*",
        listener="SSL",
        topic="o-*",
        partition=3,
        group="g",
        transactional_id="x",
        window_s=(0.5, 1.5),
        delay_s=(0.1, 0.2),
        error=ErrorCode.NOT_LEADER_OR_FOLLOWER,
        after=1,
        every=2,
        times=4,
        probability=0.25,
        seed="s",
    )
    assert table_of(rule) == ALL
    assert json.loads(json.dumps(table_of(rule))) == ALL


@pytest.mark.parametrize(
    "field",
    [
        {"api": ["Produce", "ApiVersions"]},
        {"version": [0, 4]},
        {"window_s": [1]},
        {"window_s": [0.5, 1.5]},
        {"delay_s": [0.005, 0.02]},
    ],
)
def test_a_rule_in_python_takes_lists_as_a_table_does(field: dict[str, Any]) -> None:
    rule = FaultRule(**{"observe": True, **field})

    assert rule == rule_of({"observe": True, **field}, apis())
    assert hash(rule) == hash(rule_of({"observe": True, **field}, apis()))


@pytest.mark.parametrize(
    "table",
    [
        {"drop": True},
        {"hold": True, "times": 1},
        {"disconnect": "after"},
        {"throttle_s": 1.5},
        {"corrupt": "records"},
        {"observe": True},
        {"delay_s": 2.0, "window_s": [3.0]},
        {"api": "ApiVersions", "respond": {"error_code": 35}},
    ],
)
def test_rule_of_each_verdict_is_shown_as_the_table_of_its_origin(table: dict[str, Any]) -> None:
    rule = rule_of(table, apis())

    shown = table_of(rule)
    if "respond" in table:
        assert rule.respond == ApiVersionsResponse(error_code=35)
        assert shown.pop("respond")["error_code"] == 35
        table = {"api": "ApiVersions"}
    assert shown == table


def test_every_rule_field_except_the_predicate_is_a_table_key() -> None:
    names = {attrs_attr.name for attrs_attr in FaultRule.__attrs_attrs__}  # type: ignore[attr-defined]

    assert names - set(KEYS) == {"where"}


def test_a_predicate_and_a_function_are_shown_by_name() -> None:
    shown = table_of(FaultRule(where=str.isalpha, respond=apis, api=k00_produce.ProduceRequest))  # type: ignore[arg-type]

    assert shown == {"api": "Produce", "where": "str.isalpha", "respond": "apis"}


ERROR = {"error": "REQUEST_TIMED_OUT"}


@pytest.mark.parametrize(
    ("table", "why"),
    [
        (["no"], r"\['no'\], want a table of name, api"),
        ({**ERROR, "tpoic": "t"}, "unknown field 'tpoic'; did you mean 'topic'"),
        ({**ERROR, "zzzz": "t"}, "unknown field 'zzzz': want some of name"),
        ({**ERROR, "where": "x"}, "where: a function, so only Python"),
        ({**ERROR, "chance": 0.5}, "chance: write probability"),
        ({**ERROR, "close": True}, 'close: write disconnect = "before"'),
        ({**ERROR, "delay_ms": 5}, "delay_ms: write delay_s, in seconds"),
        ({**ERROR, "throttle_ms": 5}, "throttle_ms: write throttle_s"),
        ({**ERROR, "from_ms": 5}, r"from_ms: write window_s = \[begin, end\]"),
        ({**ERROR, "until_ms": 5}, "until_ms: write window_s"),
        ({**ERROR, "name": "A b"}, "name: 'A b', want 1 to 64"),
        ({**ERROR, "name": None}, "name: None"),
        ({**ERROR, "api": 1.5}, "api: 1.5, want the name or the key"),
        ({**ERROR, "api": ["Produce", True]}, "api: True"),
        ({**ERROR, "topic": ""}, "topic: '', want a string"),
        ({"error": "NOPE"}, "error: 'NOPE' is not the name"),
        ({"error": "REQUEST_TIMEDOUT"}, "did you mean REQUEST_TIMED_OUT"),
        ({"error": 9999}, "error: 9999 is not the number"),
        ({"error": True}, "error: True is not the name"),
        ({"error": "NONE"}, "error: 'NONE', want an error"),
        ({**ERROR, "probability": 1.5}, "probability: 1.5, want 0 to 1"),
        ({**ERROR, "probability": True}, "probability: True, want a number"),
        ({**ERROR, "probability": float("nan")}, "probability: nan, want a number"),
        ({**ERROR, "seed": 3}, "seed: 3, want a string"),
        ({**ERROR, "after": 1.5}, "after: 1.5, want a whole number"),
        ({**ERROR, "every": 0}, "every: 0, want at least 1"),
        ({**ERROR, "version": [1]}, r"version: \[1\], want a version"),
        ({**ERROR, "window_s": 5}, r"window_s: 5, want \[begin\] or"),
        ({**ERROR, "window_s": [2, 1]}, "window_s: .* want a begin before"),
        ({"delay_s": [1]}, r"delay_s: \[1\], want a number"),
        ({"delay_s": "1"}, "delay_s: '1', want a number"),
        ({"drop": False}, "drop: False, want true, or leave it out"),
        ({"disconnect": "now"}, "disconnect: 'now', want before or after"),
        ({"respond": {}}, "respond: needs `api`"),
        ({"api": "ApiVersions", "respond": {"nope": 1}}, "respond: .*nope"),
        ({"topic": "t"}, "the rule has no effect"),
        ({"topic": "x" * 200, "zz": 1}, "unknown field 'zz'"),
    ],
)
def test_error_for_an_invalid_table_names_the_mistake(table: Any, why: str) -> None:
    with pytest.raises(RuleError, match=why):
        rule_of(table, apis())


def test_table_accepts_an_error_number_and_a_window_without_end() -> None:
    rule = rule_of({"error": 6, "window_s": [1]}, apis())

    assert (rule.error, rule.window_s) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, (1.0, inf))


def test_rules_are_read_from_toml_and_json_files() -> None:
    toml = '[[rules]]\ntopic = "t"\nerror = "REQUEST_TIMED_OUT"\n[[rules]]\ndrop = true\n'
    rules = rules_of("rules.toml", toml, apis())

    assert [rule.verdict for rule in rules] == ["error", "drop"]
    assert rules_of("rules.json", json.dumps({"rules": [{"drop": True}]}), apis()) == rules[1:]


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("a.toml", "rules = [", "a.toml: "),
        ("a.json", "[1]", "a.json: want a list `rules` and nothing else"),
        ("a.json", '{"rules": [], "more": 1}', "want a list `rules` and nothing else"),
        ("a.json", '{"rules": [{"drop": true}, {"dorp": true}]}', "a.json: rule 2: .*'drop'"),
    ],
)
def test_error_for_an_invalid_file_names_the_file_and_the_rule(
    name: str, text: str, why: str
) -> None:
    with pytest.raises(RuleError, match=why):
        rules_of(name, text, apis())
