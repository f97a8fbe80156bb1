"""`trio-kafka user list`."""

from tests.cli.kit import Shell


def test_users_are_listed_with_their_mechanisms(shell: Shell) -> None:
    shell.run("user", "create", "l1", "--mechanism", "SCRAM-SHA-256", stdin=b"pw\n")

    lines = shell.run("user", "list", "l1").decode().splitlines()

    assert [line.split() for line in lines] == [
        ["user", "mechanism", "iterations"],
        ["l1", "SCRAM-SHA-256", "4096"],
    ]
    assert b"l1" in shell.run("user", "list")
