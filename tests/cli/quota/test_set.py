"""`trio-kafka quota set`."""

import json

from tests.cli.kit import Shell


def test_quota_is_set_and_a_dry_run_shows_kafkas_command(shell: Shell) -> None:
    words = [
        "quota",
        "set",
        "producer_byte_rate=1048576",
        "--user",
        "set",
        "--default",
        "client-id",
    ]

    output = shell.run(*words, "--dry-run").decode()
    assert "would set quotas of user=set client-id=(default): producer_byte_rate=1048576" in output
    assert (
        "--alter --entity-type clients --entity-default --entity-type users --entity-name set"
        " --add-config producer_byte_rate=1048576" in output
    )
    assert json.loads(shell.run("quota", "list", "--user", "set", "--json")) == {"quotas": []}

    shell.run(*words)
    assert json.loads(shell.run("quota", "list", "--user", "set", "--json")) == {
        "quotas": [
            {
                "entity": {"client-id": None, "user": "set"},
                "quotas": {"producer_byte_rate": 1048576.0},
            }
        ]
    }


def test_wrong_quotas_and_values_are_refused(shell: Shell) -> None:
    for quota in ("request_percentage=x", "request_percentage=0", "request_percentage=nan"):
        line = shell.fail("quota", "set", quota, "--user", "a", status=2)
        assert f"{quota}: want a number above 0" in line
    assert "did you mean" in shell.fail("quota", "set", "producer_rate=1", "--user", "a", status=2)
    assert "give --user" in shell.fail("quota", "set", "request_percentage=1", status=2)
    assert "expected one of connection_creation_rate" in shell.fail(
        "quota", "set", "producer_byte_rate=1", "--ip", "10.0.0.1"
    )
