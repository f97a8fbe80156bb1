"""`trio-kafka token create`."""

import re

from tests.cli.kit import Shell
from tests.cli.token.kit import Login


def test_a_new_token_is_shown_with_its_password_and_logs_in(ann: Login) -> None:
    first, *rest = ann.run("token", "create", "--renewer", "User:bob").splitlines()

    assert re.fullmatch(
        r"done: create token \S{22} of User:ann: expires \S+Z, ends \S+Z at the latest", first
    )
    token_id, password = (line.partition(": ")[2] for line in rest)
    ann.by_token(token_id, password)
    assert "orders" in ann.run("topic", "list")
    line = ann.fail("token", "create")
    assert "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED" in line
    assert password not in line


def test_json_has_all_that_a_login_needs(ann: Login) -> None:
    row = ann.create("--max-lifetime", "2h", "--owner", "User:eve")

    assert (row["owner"], row["requester"]) == ("User:eve", "User:ann")
    assert row["max_ms"] - row["issue_ms"] == 7_200_000
    assert len(row["hmac"]) == 88


def test_a_dry_run_makes_no_token_and_shows_kafkas_own_command(ann: Login) -> None:
    before = ann.ids()
    output = ann.run(
        "token", "create", "--dry-run", "--renewer", "User:bob", "--max-lifetime", "1d"
    )

    assert output.splitlines()[0] == "would create a token of your user"
    assert "kafka-delegation-tokens.sh --bootstrap-server " in output
    assert "--create --max-life-time-period 86400000 --renewer-principal User:bob" in output
    assert ann.ids() == before


def test_wrong_options_of_a_new_token_are_one_line(ann: Login, shell: Shell) -> None:
    words = ("token", "create")
    assert "--owner: principal 'ann'" in ann.fail(*words, "--owner", "ann", status=2)
    assert "--renewer: principal ''" in ann.fail(*words, "--renewer", "", status=2)
    assert "'1y' is not a duration" in ann.fail(*words, "--max-lifetime", "1y", status=2)
    assert "INVALID_PRINCIPAL_TYPE" in ann.fail(*words, "--renewer", "Group:g")
