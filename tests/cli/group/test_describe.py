"""`trio-kafka group describe`."""

import json

from tests.cli.kit import Shell


def test_description_has_state_and_lag(shell: Shell, group: str) -> None:
    head, _, first, _ = shell.run("group", "describe", group).decode().splitlines()
    data = json.loads(shell.run("group", "describe", group, "--json"))["groups"][0]

    assert head.startswith("group billing  type Classic  state Empty  members 0")
    assert first.split() == ["read", "0", "1", "3", "2", "-", "-", "-"]
    assert [row["lag"] for row in data["partitions"]] == [2, 0]
