"""`trio-kafka group lag`."""

import json

from tests.cli.kit import Shell


def test_lag_is_shown_by_partition_and_in_all(shell: Shell, group: str) -> None:
    rows = json.loads(shell.run("group", "lag", group, "--json"))["lags"]
    *_, last = shell.run("group", "lag", group).decode().splitlines()

    assert [(row["partition"], row["committed"], row["end"], row["lag"]) for row in rows] == [
        (0, 1, 3, 2),
        (1, 2, 2, 0),
    ]
    assert last == "billing: 2 records behind"
