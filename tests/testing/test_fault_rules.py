"""Rules as people write them, and by name."""

import json
from typing import Any

import pytest

from trio_kafka.errors import ErrorCode
from trio_kafka.introspect.tree import Node
from trio_kafka.requests.registry import Registry
from trio_kafka.testing.fault_rules import FaultRules, RuleError, fault_of, read_rules
from trio_kafka.testing.faults import Fault, Faults
from trio_kafka_apis import k00_produce

ERROR = {"name": "t", "error": "REQUEST_TIMED_OUT"}


def apis() -> Registry:
    registry = Registry()
    registry.add_module(k00_produce)
    return registry


def rules(most: int = 3) -> FaultRules:
    return FaultRules(Faults([]), apis(), Node("rules", "part"), most=most)


def test_a_rule_with_all_keys_is_the_fault_that_it_says() -> None:
    said = {
        "name": "all",
        "api": "Produce",
        "client_id": "c-*",
        "topic": "o-*",
        "partition": 3,
        "after": 1,
        "every": 2,
        "times": 4,
        "chance": 0.25,
        "seed": "s",
        "from_ms": 500,
        "until_ms": 1500,
        "delay_ms": [10, 20],
        "error": "NOT_LEADER_OR_FOLLOWER",
        "close": True,
        "throttle_ms": 40,
    }

    assert fault_of(said, apis()) == Fault(
        api=k00_produce.ProduceRequest,
        client_id="c-*",
        topic="o-*",
        partition=3,
        after=1,
        every=2,
        times=4,
        chance=0.25,
        seed="s",
        window_s=(0.5, 1.5),
        delay_s=(0.01, 0.02),
        error=ErrorCode.NOT_LEADER_OR_FOLLOWER,
        close=True,
        throttle_s=0.04,
    )
    assert fault_of({"name": "a", "delay_ms": 7}, apis()) == Fault(delay_s=(0.007, 0.007))


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"name": "A b"}, r"name: 'A b', want 1 to 64"),
        ({"name": None}, "name: None"),
        ({"api": "Nothing"}, "api: this broker has no 'Nothing'"),
        ({"api": 1}, "api: 1, want a string"),
        ({"topic": ""}, "topic: '', want a string"),
        ({"error": "NOPE"}, "error: 'NOPE' is not the name"),
        ({"error": "NONE"}, "error: 'NONE' is not the name"),
        ({"chance": 1.5}, "chance: 1.5, want 0 to 1"),
        ({"chance": True}, "chance: True"),
        ({"chance": float("nan")}, "chance: nan"),
        ({"seed": 3}, "seed: 3, want a string"),
        ({"delay_ms": [3, 2]}, "delay_ms: from more than to"),
        ({"delay_ms": [1, 2, 3]}, "delay_ms: .*want a number, or from and to"),
        ({"delay_ms": "1"}, "delay_ms: '1'"),
        ({"delay_ms": 1e12}, "delay_ms: 1000000000000.0, want 0 to 3.6e"),
        ({"throttle_ms": -1}, "throttle_ms: -1"),
        ({"every": 0}, "every: 0, want a whole number of at least 1"),
        ({"times": -1}, "times: -1"),
        ({"after": 1.5}, "after: 1.5"),
        ({"partition": -1}, "partition: -1, want a whole number of at least 0"),
        ({"partition": True}, "partition: True"),
        ({"close": 1}, "close: 1, want true or false"),
        ({"from_ms": 5, "until_ms": 5}, "from_ms: want less than until_ms"),
        ({"colour": "red"}, "unknown key 'colour': want some of after, api"),
        ({"client_id": ["x" * 5000]}, r"client_id: \['x{50,100}\.\.\., want a string"),
    ],
)
def test_what_is_no_rule_names_its_culprit(changed: dict[str, Any], why: str) -> None:
    with pytest.raises(RuleError, match=f"^{why}"):
        fault_of({**ERROR, **changed}, apis())


@pytest.mark.parametrize(("said", "why"), [([], "list"), ({"name": "a"}, "the rule has no effect")])
def test_what_says_nothing_is_no_rule(said: Any, why: str) -> None:
    with pytest.raises(RuleError, match=why):
        fault_of(said, apis())


def test_rules_have_names_of_their_own_and_a_place_in_the_tree() -> None:
    kept = rules()

    made = kept.add(ERROR)
    with pytest.raises(RuleError, match="name: a rule 't' exists already"):
        kept.add(ERROR)
    kept.add({**ERROR, "name": "u"})

    assert made.shown() == {**ERROR, "fitted": 0, "done": 0}
    assert [one.name for one in kept.node.children] == ["t", "u"]
    assert kept.find("t") is made
    assert kept.remove("t")
    assert not kept.remove("t")
    assert kept.find("t") is None
    assert [one.said["name"] for one in kept] == ["u"]
    assert len(kept.faults.done) == 1
    kept.clear()
    assert (list(kept), kept.faults.done, list(kept.node.children)) == ([], [], [])


def test_there_are_so_many_rules_at_most() -> None:
    kept = rules(most=1)
    kept.add(ERROR)

    with pytest.raises(RuleError, match="there are 1 rules, the most"):
        kept.add({**ERROR, "name": "b"})


@pytest.mark.parametrize(
    ("name", "text"),
    [("r.toml", '[[rules]]\nname = "t"\n'), ("r.json", json.dumps({"rules": [{"name": "t"}]}))],
)
def test_a_file_has_rules(name: str, text: str) -> None:
    assert read_rules(name, text) == [{"name": "t"}]


@pytest.mark.parametrize("text", ["rules = 3", "x", "other = []", "rules = []\nx = 1"])
def test_a_file_of_something_else_is_named(text: str) -> None:
    with pytest.raises(RuleError, match=r"^r\.toml: "):
        read_rules("r.toml", text)
