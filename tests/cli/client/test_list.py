"""`trio-kafka client list`."""

import json
import time

from tests.cli.kit import Shell
from trio_kafka.model import Endpoint
from trio_kafka.peers.blocking import connected


def test_list_shows_client_software_and_address(shell: Shell) -> None:
    host, _, port = shell.kafka.bootstrap.rpartition(":")
    deadline = time.monotonic() + 10
    with connected(Endpoint(host, int(port)), deadline=deadline, client_id="seen"):
        table = shell.run("client", "list", "seen").decode().splitlines()
        (row,) = json.loads(shell.run("client", "list", "seen", "--json"))["clients"]
        every = json.loads(shell.run("client", "list", "--json"))["clients"]

    assert table[0].split() == ["client", "software", "address", "connection", "requests", "waits"]
    assert len(table) == 2
    assert row["client_id"] == "seen"
    assert row["software"].startswith("trio-kafka")
    assert row["peer"].startswith("127.0.0.1:")
    assert row["requests"] >= 1
    assert {client["client_id"] for client in every} >= {"seen", "trio-kafka"}
