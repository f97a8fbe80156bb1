"""`trio-kafka acl delete`."""

import json

from tests.cli.kit import Shell
from trio_kafka.testing.kafka.threaded import running_broker


def test_entries_are_deleted_by_a_filter_after_a_look(shell: Shell) -> None:
    words = ("acl", "create", "--principal", "User:gone", "--allow", "READ,WRITE")
    shell.run(*words, "--topic", "gone")
    chosen = ("--principal", "User:gone", "--operation", "READ")

    output = shell.run("acl", "delete", *chosen, "--dry-run").decode()
    assert output.startswith("would delete allow User:gone to READ topic gone\n")
    assert "--remove --force" in output
    assert shell.run("acl", "delete", *chosen).startswith(b"done: delete allow User:gone to READ")
    rows = json.loads(shell.run("acl", "list", "--principal", "User:gone", "--json"))["acls"]
    assert [row["operation"] for row in rows] == ["WRITE"]


def test_all_entries_need_a_word(shell: Shell) -> None:
    assert "give --all" in shell.fail("acl", "delete", status=2)


def test_broker_without_an_authorizer_is_named(
    shell: Shell,
) -> None:
    with running_broker() as kafka:
        shell.kafka = kafka
        assert "SECURITY_DISABLED" in shell.fail("acl", "list")
