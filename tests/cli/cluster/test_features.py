"""`trio-kafka cluster features`."""

import json

from tests.cli.kit import Shell


def test_levels_of_features_are_shown(shell: Shell) -> None:
    rows = json.loads(shell.run("cluster", "features", "--json"))["features"]

    levels = {row["feature"]: row for row in rows}
    assert levels["group.version"]["level"] == 1
    assert levels["metadata.version"]["highest"] >= levels["metadata.version"]["level"]
