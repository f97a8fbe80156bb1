"""Entries of access control lists, from sentences and in sentences."""

import pytest

from trio_kafka.security.acls.entries import Acl, PatternType, PermissionType
from trio_kafka.security.acls.words import SUPPORTED, acl_words, parse_acls
from trio_kafka.security.operations import Operation, operations_in
from trio_kafka.security.resources import ResourceType

LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
ALLOW, DENY = PermissionType.ALLOW, PermissionType.DENY


def test_a_sentence_has_an_entry_for_each_operation() -> None:
    read, describe = parse_acls("allow ann to read, describe-configs topic orders*")
    topic = (ResourceType.TOPIC, "orders", PREFIXED, "User:ann", "*")
    assert read == Acl(*topic, Operation.READ, ALLOW)
    assert describe == Acl(*topic, Operation.DESCRIBE_CONFIGS, ALLOW)


@pytest.mark.parametrize(
    ("sentence", "fields"),
    [
        ("deny * to ALL group *", (ResourceType.GROUP, "*", LITERAL, "User:*", "*")),
        (
            "deny ann from 10.0.0.0/8 to ALL cluster",
            (ResourceType.CLUSTER, "kafka-cluster", LITERAL, "User:ann", "10.0.0.0/8"),
        ),
        (
            "deny Role:x to ALL transactional id a b",
            (ResourceType.TRANSACTIONAL_ID, "a b", LITERAL, "Role:x", "*"),
        ),
    ],
)
def test_everything_and_the_cluster_are_literal(
    sentence: str, fields: tuple[ResourceType, str, PatternType, str, str]
) -> None:
    assert parse_acls(sentence) == [Acl(*fields, Operation.ALL, DENY)]


@pytest.mark.parametrize("kind", SUPPORTED)
def test_what_is_written_is_read_again(kind: ResourceType) -> None:
    name = "kafka-cluster" if kind is ResourceType.CLUSTER else "n"
    for operation in operations_in(SUPPORTED[kind]):
        acl = Acl(kind, name, LITERAL, "User:ann", "::1", operation, ALLOW)
        assert parse_acls(acl_words(acl)) == [acl]


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        ("", "want such as"),
        ("Allow ann to READ topic t", "want such as"),
        ("allow ann to READ table t", "resources: topic, group"),
        ("allow ann READ topic t", "want such as"),
        ("allow ann to READ topic", "no name follows topic"),
        ("allow ann to REED topic t", "no operation 'REED'"),
        ("allow ann to ANY topic t", "no operation 'ANY'"),
        ("allow ann to READ cluster", "READ is no operation on a cluster"),
        ("allow ann to ALTER cluster mine", "leave 'mine' out"),
        ("allow User: to READ topic t", "expected type:name"),
    ],
)
def test_a_sentence_that_is_none_is_named(sentence: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason) as refused:
        parse_acls(sentence)
    assert str(refused.value).startswith(f"ACL {sentence!r}: ")
