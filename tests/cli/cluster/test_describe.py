"""`trio-kafka cluster describe`."""

import json

from tests.cli.kit import Shell


def test_brokers_are_shown_with_their_addresses(shell: Shell) -> None:
    table = shell.run("cluster", "describe").decode().splitlines()
    data = json.loads(shell.run("cluster", "describe", "--json"))

    assert shell.kafka.bootstrap in table[2]
    assert data["brokers"][0]["node"] == 1
