"""`trio-kafka user create`."""

import json
from pathlib import Path

from tests.cli.kit import Shell


def credentials(shell: Shell, user: str) -> object:
    rows = json.loads(shell.run("user", "list", user, "--json"))["users"]
    return [(row["mechanism"], row["iterations"]) for row in rows[0]["credentials"]]


def test_a_user_is_created_with_the_password_of_a_file_or_of_the_input(
    shell: Shell, tmp_path: Path
) -> None:
    file = tmp_path / "password"
    file.write_text("s3cret\n")

    first = shell.run("user", "create", "c1", "--password-file", str(file))
    second = shell.run(
        "user",
        "create",
        "c2",
        "--mechanism",
        "SCRAM-SHA-512",
        "--iterations",
        "8192",
        stdin=b"pw\n",
    )

    assert first == (
        b"done: create user c1: SCRAM-SHA-256 with 4096 iterations\n"
        b"done: create user c1: SCRAM-SHA-512 with 4096 iterations\n"
    )
    assert second == b"done: create user c2: SCRAM-SHA-512 with 8192 iterations\n"
    assert credentials(shell, "c1") == [("SCRAM-SHA-256", 4096), ("SCRAM-SHA-512", 4096)]
    assert credentials(shell, "c2") == [("SCRAM-SHA-512", 8192)]


def test_each_credential_of_a_new_user_is_a_row_of_json(shell: Shell) -> None:
    answer = json.loads(shell.run("user", "create", "c5", "--json", stdin=b"pw\n"))

    alter = f"kafka-configs.sh --bootstrap-server {shell.bootstrap} --alter --entity-type users"
    assert answer == {
        "dry_run": False,
        "changes": [
            {
                "verb": "create",
                "user": "c5",
                "mechanism": mechanism,
                "iterations": 4096,
                "kafka_command": f"{alter} --entity-name c5 --add-config"
                f" '{mechanism}=[iterations=4096,password=PASSWORD]'",
            }
            for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512")
        ],
    }


def test_a_dry_run_asks_for_no_password_and_creates_no_user(shell: Shell) -> None:
    output = shell.run("user", "create", "c3", "--dry-run").decode()

    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        assert f"would create user c3: {mechanism} with 4096 iterations" in output
        assert f"--entity-name c3 --add-config '{mechanism}=[iterations=4096,password=" in output
    assert "RESOURCE_NOT_FOUND" in shell.fail("user", "list", "c3")


def test_wrong_options_of_a_new_user_are_one_line(shell: Shell) -> None:
    words = ("user", "create", "c4")
    assert "the password is empty" in shell.fail(*words, stdin=b"\n", status=2)
    assert "want 4096 to 16384" in shell.fail(*words, "--iterations", "99", status=2)
    assert "No such file" in shell.fail(*words, "--password-file", "/none", status=2)


def test_a_user_that_the_broker_rejects_is_one_error_and_nothing_is_reported_as_done(
    shell: Shell,
) -> None:
    status, output, errors = shell.result("user", "create", "", stdin=b"pw\n")

    assert (status, output) == (1, b"")
    (line,) = errors.splitlines()
    assert "UNACCEPTABLE_CREDENTIAL: user : SCRAM-SHA-256: Username must not be empty" in line
