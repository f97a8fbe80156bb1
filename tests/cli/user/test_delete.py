"""`trio-kafka user delete`."""

import json

from tests.cli.kit import Shell


def test_a_user_is_deleted_whole_or_one_mechanism_at_a_time(shell: Shell) -> None:
    shell.run("user", "create", "d1", stdin=b"pw\n")
    words = ("user", "delete", "d1")

    dry = shell.run(*words, "--dry-run").decode()
    assert "would delete user d1: SCRAM-SHA-256, SCRAM-SHA-512" in dry
    assert "--entity-name d1 --delete-config SCRAM-SHA-256,SCRAM-SHA-512" in dry
    assert shell.run(*words, "--mechanism", "SCRAM-SHA-256") == (
        b"done: delete user d1: SCRAM-SHA-256\n"
    )
    changed = json.loads(shell.run(*words, "--json"))
    assert [row["mechanisms"] for row in changed["changes"]] == [["SCRAM-SHA-512"]]
    assert "RESOURCE_NOT_FOUND" in shell.fail(*words)
