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

    assert first == b"done: create user c1: SCRAM-SHA-256, SCRAM-SHA-512 with 4096 iterations\n"
    assert second == b"done: create user c2: SCRAM-SHA-512 with 8192 iterations\n"
    assert credentials(shell, "c1") == [("SCRAM-SHA-256", 4096), ("SCRAM-SHA-512", 4096)]
    assert credentials(shell, "c2") == [("SCRAM-SHA-512", 8192)]


def test_a_dry_run_asks_for_no_password_and_creates_no_user(shell: Shell) -> None:
    output = shell.run("user", "create", "c3", "--mechanism", "SCRAM-SHA-256", "--dry-run").decode()

    assert "would create user c3: SCRAM-SHA-256 with 4096 iterations" in output
    assert "--entity-name c3 --add-config 'SCRAM-SHA-256=[iterations=4096,password=" in output
    assert "RESOURCE_NOT_FOUND" in shell.fail("user", "list", "c3")


def test_wrong_options_of_a_new_user_are_one_line(shell: Shell) -> None:
    words = ("user", "create", "c4")
    assert "the password is empty" in shell.fail(*words, stdin=b"\n", status=2)
    assert "want 4096 to 16384" in shell.fail(*words, "--iterations", "99", status=2)
    assert "No such file" in shell.fail(*words, "--password-file", "/none", status=2)
