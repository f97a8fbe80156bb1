"""The index of entries: after any changes it decides as a walk through all entries does."""

import random

import pytest

from tests.apis.acls import allow, deny
from tests.security.acls.oracle.cases import random_case
from trio_kafka.security.acls.entries import Acl, PatternType
from trio_kafka.security.acls.index import AclIndex
from trio_kafka.security.operations import Operation
from trio_kafka.security.principal import ANONYMOUS
from trio_kafka.security.resources import ResourceType

TOPIC = ResourceType.TOPIC
HOST = "10.0.0.1"
READ = 1 << Operation.READ


def index_of(*acls: Acl) -> AclIndex:
    index = AclIndex()
    for acl in acls:
        index.add(acl)
    return index


def answers(index: AclIndex, requests: list[list[object]]) -> list[object]:
    return [
        (
            index.verdict(principal, host, kind, name or ""),  # type: ignore[arg-type]
            index.allows_any(principal, host, operation, kind),  # type: ignore[arg-type]
        )
        for principal, host, operation, kind, name in requests
    ]


@pytest.mark.parametrize("seed", range(10))
def test_an_index_after_removals_equals_one_that_never_had_the_entries(seed: int) -> None:
    chance = random.Random(seed)
    entries = {Acl(*acl) for number in range(5) for acl in random_case(seed * 5 + number, 0).acls}
    gone = {acl for acl in sorted(entries) if chance.random() < 0.5}
    requests = random_case(seed, 50).requests
    index = index_of(*entries)
    for acl in gone:
        index.remove(acl)

    fresh = index_of(*(entries - gone))
    assert len(index) == len(fresh)
    assert answers(index, requests) == answers(fresh, requests)
    for acl in entries - gone:
        index.remove(acl)
    assert len(index) == 0
    for of_type in index._types.values():
        assert not of_type.literal
        assert not of_type.prefixed
        assert not of_type.named


def test_an_entry_of_another_principal_matches_and_allows_nothing() -> None:
    index = index_of(allow(Operation.READ, name="t", principal="User:ann"))

    assert index.verdict(ANONYMOUS, HOST, TOPIC, "t") == (0, 0, True)
    assert index.verdict(ANONYMOUS, HOST, TOPIC, "u") == (0, 0, False)
    assert index.verdict(ANONYMOUS, HOST, ResourceType.GROUP, "t") == (0, 0, False)


@pytest.mark.parametrize(
    ("denied", "pattern"),
    [("ab", PatternType.LITERAL), ("a", PatternType.PREFIXED), ("*", PatternType.LITERAL)],
)
def test_any_resource_is_denied_where_a_denial_dominates(denied: str, pattern: PatternType) -> None:
    denial = deny(Operation.READ, TOPIC, denied, pattern=pattern)
    index = index_of(allow(Operation.READ, name="ab"), denial)

    assert not index.allows_any(ANONYMOUS, HOST, Operation.READ, TOPIC)
    index.remove(denial)
    assert index.allows_any(ANONYMOUS, HOST, Operation.READ, TOPIC)


def test_a_denied_literal_does_not_dominate_a_prefix() -> None:
    index = index_of(
        allow(Operation.READ, name="a", pattern=PatternType.PREFIXED),
        deny(Operation.READ, TOPIC, "a"),
    )

    assert index.allows_any(ANONYMOUS, HOST, Operation.READ, TOPIC)


def test_answers_about_any_resource_are_kept_until_the_next_change_only() -> None:
    index = index_of(allow(Operation.READ, name="a"))
    assert not index.allows_any(ANONYMOUS, HOST, Operation.WRITE, TOPIC)

    index.add(allow(Operation.WRITE, name="b"))

    assert index.allows_any(ANONYMOUS, HOST, Operation.WRITE, TOPIC)


def test_implied_operations_do_not_count_for_any_resource() -> None:
    index = index_of(allow(Operation.READ, name="a"))

    assert index.verdict(ANONYMOUS, HOST, TOPIC, "a")[0] >> Operation.DESCRIBE & 1
    assert not index.allows_any(ANONYMOUS, HOST, Operation.DESCRIBE, TOPIC)


def test_a_literal_for_all_does_not_cover_names_that_begin_with_a_star() -> None:
    index = index_of(allow(Operation.READ, ResourceType.GROUP, "*"))

    assert index.verdict(ANONYMOUS, HOST, ResourceType.GROUP, "*")[2]
    assert not index.verdict(ANONYMOUS, HOST, ResourceType.GROUP, "*x")[2]
