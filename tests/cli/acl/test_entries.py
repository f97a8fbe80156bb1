"""Entries of access control lists in words."""

import pytest

from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.acl.entries import (
    check_principal,
    kafka_words,
    parse_operations,
)
from trio_kafka.clients.admin.acls import Acl, Operation, PatternType, PermissionType, ResourceType
from trio_kafka.security.acls.words import acl_words

ACL = Acl(
    ResourceType.TOPIC,
    "orders",
    PatternType.PREFIXED,
    "User:ann",
    "10.0.0.1",
    Operation.DESCRIBE_CONFIGS,
    PermissionType.DENY,
)


def test_entry_is_a_sentence_and_a_command_of_kafka() -> None:
    assert acl_words(ACL) == ("deny User:ann from 10.0.0.1 to DESCRIBE_CONFIGS topic orders*")
    assert " ".join(kafka_words(ACL, "a:1", "--remove")) == (
        "kafka-acls.sh --bootstrap-server a:1 --remove --force --deny-principal User:ann"
        " --deny-host 10.0.0.1 --operation DescribeConfigs --topic orders"
        " --resource-pattern-type prefixed"
    )


def test_operations_are_named_in_any_case() -> None:
    assert parse_operations("read, describe-configs") == [
        Operation.READ,
        Operation.DESCRIBE_CONFIGS,
    ]


@pytest.mark.parametrize("text", ["reed", "", "ANY", "READ;WRITE"])
def test_unknown_operation_is_named(text: str) -> None:
    with pytest.raises(CommandFailedError, match="no operation"):
        parse_operations(text)


def test_the_misspelled_one_of_several_operations_gets_a_hint() -> None:
    with pytest.raises(CommandFailedError, match="no operation 'wriet'; did you mean WRITE"):
        parse_operations("read,wriet")


@pytest.mark.parametrize("principal", ["ann", "User:", ":ann"])
def test_principal_has_a_type_and_a_name(principal: str) -> None:
    with pytest.raises(CommandFailedError, match="want TYPE:NAME"):
        check_principal(principal)
