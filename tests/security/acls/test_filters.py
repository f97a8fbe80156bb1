"""Filters of entries: each field, patterns that match, the one entry that can pass."""

import pytest

from tests.apis.acls import allow
from trio_kafka.security.acls.entries import Acl, PatternType, PermissionType
from trio_kafka.security.acls.filters import AclFilter
from trio_kafka.security.operations import Operation
from trio_kafka.security.resources import ResourceType

READ = allow(Operation.READ, name="orders", host="10.0.0.1")
PREFIX = READ._replace(name="ord", pattern_type=PatternType.PREFIXED)
ALL = READ._replace(name="*")
STAR_PREFIX = PREFIX._replace(name="*")


def passing(acl_filter: AclFilter) -> list[Acl]:
    return [acl for acl in (READ, PREFIX, ALL, STAR_PREFIX) if acl_filter.matches(acl)]


@pytest.mark.parametrize(
    "other",
    [
        AclFilter(resource_type=ResourceType.GROUP),
        AclFilter(name="order"),
        AclFilter(pattern_type=PatternType.PREFIXED),
        AclFilter(principal="User:bob"),
        AclFilter(host="*"),
        AclFilter(operation=Operation.WRITE),
        AclFilter(permission=PermissionType.DENY),
    ],
)
def test_an_entry_that_differs_in_one_field_does_not_pass(other: AclFilter) -> None:
    assert AclFilter().matches(READ)
    assert AclFilter(*READ).matches(READ)
    assert not other.matches(READ)


@pytest.mark.parametrize(
    ("name", "pattern", "expected"),
    [
        (None, PatternType.ANY, [READ, PREFIX, ALL, STAR_PREFIX]),
        (None, PatternType.MATCH, [READ, PREFIX, ALL, STAR_PREFIX]),
        (None, PatternType.PREFIXED, [PREFIX, STAR_PREFIX]),
        ("orders", PatternType.ANY, [READ]),
        ("orders", PatternType.LITERAL, [READ]),
        ("orders", PatternType.PREFIXED, []),
        ("orders", PatternType.MATCH, [READ, PREFIX, ALL]),
        ("or", PatternType.MATCH, [ALL]),
        ("ord", PatternType.MATCH, [PREFIX, ALL]),
        ("*", PatternType.ANY, [ALL, STAR_PREFIX]),
        ("*", PatternType.LITERAL, [ALL]),
        ("*x", PatternType.MATCH, [ALL, STAR_PREFIX]),
    ],
)
def test_a_filter_of_patterns_passes_what_kafka_passes(
    name: str | None, pattern: PatternType, expected: list[Acl]
) -> None:
    assert passing(AclFilter(name=name, pattern_type=pattern)) == expected


def test_only_a_filter_without_a_choice_names_one_entry() -> None:
    assert AclFilter(*READ).only() == READ
    for field, open_value in zip(AclFilter._fields, AclFilter(), strict=True):
        assert AclFilter(*READ)._replace(**{field: open_value}).only() is None
    assert AclFilter(*READ)._replace(pattern_type=PatternType.MATCH).only() is None
