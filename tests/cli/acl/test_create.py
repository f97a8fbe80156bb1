"""`trio-kafka acl create`."""

import json

from tests.cli.kit import Shell


def test_entries_are_created_for_each_operation_and_resource(shell: Shell) -> None:
    words = ("acl", "create", "--principal", "User:ann", "--allow", "READ,DESCRIBE")
    resources = ("--topic", "orders", "--topic", "billing", "--group", "all")

    output = shell.run(*words, *resources, "--dry-run").decode()
    assert "would create allow User:ann to READ topic orders" in output
    assert "--add --allow-principal User:ann --operation Read --topic orders" in output
    listing = ("acl", "list", "--principal", "User:ann", "--json")
    assert json.loads(shell.run(*listing)) == {"acls": []}

    shell.run(*words, *resources, "--deny", "DELETE", "--host", "10.0.0.0/8")
    rows = json.loads(shell.run(*listing))["acls"]
    assert len(rows) == 9
    assert {(row["operation"], row["permission"], row["host"]) for row in rows} == {
        ("READ", "ALLOW", "10.0.0.0/8"),
        ("DESCRIBE", "ALLOW", "10.0.0.0/8"),
        ("DELETE", "DENY", "10.0.0.0/8"),
    }
    assert {row["resource_type"] for row in rows} == {"TOPIC", "GROUP"}


def test_wrong_options_are_explained_in_one_line(shell: Shell) -> None:
    words = ("acl", "create", "--principal", "User:a")
    assert "give --allow or --deny" in shell.fail(*words, "--topic", "t", status=2)
    assert "give --topic" in shell.fail(*words, "--allow", "READ", status=2)
    line = shell.fail(*words, "--allow", "RAED", "--topic", "t", status=2)
    assert "did you mean" in line
    line = shell.fail(*words, "--allow", "READ", "--topic", "t", "--cluster", status=2)
    assert "READ is no operation on a cluster: want one of ALL, CREATE, ALTER, DESCRIBE" in line
