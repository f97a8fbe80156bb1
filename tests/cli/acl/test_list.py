"""`trio-kafka acl list`."""

import json

import pytest

from tests.cli.kit import Shell


@pytest.fixture
def listed(shell: Shell) -> Shell:
    create = ("acl", "create", "--principal")
    shell.run(*create, "User:list", "--allow", "READ", "--topic", "list-", "--prefix")
    shell.run(*create, "User:list", "--allow", "WRITE", "--topic", "list-a")
    shell.run(*create, "User:other", "--deny", "READ", "--group", "list-a")
    return shell


def names(shell: Shell, *options: str) -> set[tuple[str, str]]:
    rows = json.loads(shell.run("acl", "list", *options, "--json"))["acls"]
    return {(row["name"], row["operation"]) for row in rows}


def test_filter_names_resources_principals_and_operations(listed: Shell) -> None:
    assert names(listed, "--topic", "list-a") == {("list-a", "WRITE")}
    assert names(listed, "--topic", "list-", "--prefix") == {("list-", "READ")}
    covering = names(listed, "--topic", "list-a", "--covering")
    assert covering == {("list-a", "WRITE"), ("list-", "READ")}
    assert names(listed, "--principal", "User:other") == {("list-a", "READ")}
    assert names(listed, "--principal", "User:list", "--operation", "WRITE") == {
        ("list-a", "WRITE")
    }


def test_table_shows_a_prefix_with_a_star(listed: Shell) -> None:
    lines = listed.run("acl", "list", "--principal", "User:list").decode().splitlines()

    assert [line.split() for line in lines[1:]] == [
        ["topic", "list-*", "User:list", "*", "allow", "READ"],
        ["topic", "list-a", "User:list", "*", "allow", "WRITE"],
    ]
