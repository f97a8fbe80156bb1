"""`trio-kafka group list`."""

import json

from tests.cli.kit import Shell


def test_groups_are_shown_with_type_and_state(shell: Shell, group: str) -> None:
    rows = json.loads(shell.run("group", "list", "bill*", "--json"))["groups"]
    none = json.loads(shell.run("group", "list", "--state", "Stable", "--json"))["groups"]

    assert [(row["group"], row["state"]) for row in rows] == [(group, "Empty")]
    assert none == []


def test_unknown_group_gets_a_suggestion(shell: Shell, group: str) -> None:
    assert shell.fail("group", "list", "biling").endswith("did you mean billing?")
    assert "no group matches 'x*'" in shell.fail("group", "list", "x*")


def test_state_is_known_in_any_case_and_a_wrong_one_is_named(shell: Shell, group: str) -> None:
    rows = json.loads(shell.run("group", "list", "--state", "empty", "--json"))["groups"]

    assert group in [row["group"] for row in rows]
    line = shell.fail("group", "list", "--state", "Stabl", status=2)
    assert line.endswith("--state Stabl: no such state; did you mean Stable?")
