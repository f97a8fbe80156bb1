"""`trio-kafka user delete`."""

import json

from tests.cli.kit import Shell

BOTH = ("--mechanism", "SCRAM-SHA-256", "--mechanism", "SCRAM-SHA-512")


def create(shell: Shell, user: str, *options: str) -> None:
    shell.run("user", "create", user, *options, stdin=b"pw\n")


def test_a_user_is_deleted_whole_or_one_mechanism_at_a_time(shell: Shell) -> None:
    create(shell, "d1")
    words = ("user", "delete", "d1")

    dry = shell.run(*words, "--dry-run").decode()
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        assert f"would delete user d1: {mechanism}\n" in dry
        assert f"--entity-name d1 --delete-config {mechanism}\n" in dry
    assert shell.run(*words, *BOTH[:2], *BOTH[:2]) == b"done: delete user d1: SCRAM-SHA-256\n"
    (change,) = json.loads(shell.run(*words, "--json"))["changes"]
    assert change.pop("kafka_command").endswith("--entity-name d1 --delete-config SCRAM-SHA-512")
    assert change == {"verb": "delete", "user": "d1", "mechanism": "SCRAM-SHA-512"}
    assert "RESOURCE_NOT_FOUND" in shell.fail(*words)


def test_users_are_deleted_with_all_that_each_has_and_unknown_ones_are_errors(shell: Shell) -> None:
    create(shell, "d2")
    create(shell, "d3", *BOTH[2:])

    status, output, errors = shell.result("user", "delete", "d2", "d3", "nobody")

    assert (status, output.decode().splitlines()) == (
        1,
        [
            "done: delete user d2: SCRAM-SHA-256",
            "done: delete user d2: SCRAM-SHA-512",
            "done: delete user d3: SCRAM-SHA-512",
        ],
    )
    assert "nobody" in errors
    assert len(errors.splitlines()) == 1
    assert "RESOURCE_NOT_FOUND" in shell.fail("user", "list", "d2")
