"""`trio-kafka quota unset`."""

from tests.cli.kit import Shell


def test_quota_is_removed_and_others_stay(shell: Shell) -> None:
    clients = ["--client-id", "unset"]
    shell.run("quota", "set", "producer_byte_rate=1", "consumer_byte_rate=2", *clients)

    dry = shell.run("quota", "unset", "producer_byte_rate", *clients, "--dry-run").decode()
    assert "--delete-config producer_byte_rate" in dry
    shell.run("quota", "unset", "producer_byte_rate", *clients)

    rows = shell.run("quota", "list", *clients).decode().splitlines()[1:]
    assert [row.split() for row in rows] == [
        ["client-id=unset", "consumer_byte_rate", "2", "bytes/s"]
    ]
