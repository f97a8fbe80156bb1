"""Entry of an access control list: what a principal may or may not do to resources of a pattern.

Source: AclBinding, PatternType and AclPermissionType of Apache Kafka 4.4.0; KIP-290 (prefixes).
"""

from collections.abc import Callable
from enum import IntEnum
from functools import cache
from operator import attrgetter
from typing import Final, NamedTuple

from trio_kafka.protocol.schema import fields_of
from trio_kafka.protocol.stored.metadata.security import AccessControlEntryRecord
from trio_kafka.security.principal import USER

ANYTHING: Final = "*"
"""Name of a literal pattern that covers every resource of its type; host of an entry for all."""
ANYONE: Final = f"{USER}:*"
"""Principal of an entry that holds for every principal."""


class PatternType(IntEnum):
    """Type of a pattern or of a filter of patterns (int8 in messages and records)."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class PermissionType(IntEnum):
    """Effect of an entry (int8 in messages and records)."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


class Acl(NamedTuple):
    """One entry. Entries with equal fields are the same entry.

    resource_type: a ResourceType. operation: an Operation. permission: a PermissionType.
    principal: as `User:alice`. host: an address in Java's form, a CIDR range, or `*`.
    """

    resource_type: int
    name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission: int


_PATTERN: Final = 3
"""Fields of an entry that are those of its pattern; DescribeAcls has them once for all entries."""


def acl_of(row: object) -> Acl:
    """Return the entry of a message or metadata record."""
    return Acl._make(entry_fields(row))


def entry_fields(row: object, count: int = len(Acl._fields)) -> tuple[object, ...]:
    """Return the fields of an entry, or of a filter, in a message or record.

    In all of them they are the last ones, in the order of `Acl`. count: without those of the
    pattern there are four.
    """
    get = _getter(type(row), -count, None)  # type: ignore[arg-type]  # classes are hashable
    return get(row)


def described_acl(resource: object, description: object) -> Acl:
    """Return an entry of DescribeAcls: its pattern is in the resource."""
    get = _getter(type(resource), 0, _PATTERN)  # type: ignore[arg-type]  # as above
    pattern = get(resource)
    return Acl._make((*pattern, *entry_fields(description, len(Acl._fields) - _PATTERN)))


def pattern_and_description(acl: Acl) -> tuple[tuple[int, str, int], tuple[str, str, int, int]]:
    """Return the fields of the pattern, and the others, as DescribeAcls has them."""
    return acl[:_PATTERN], acl[_PATTERN:]


@cache
def _getter(
    cls: type[object], start: int, stop: int | None
) -> Callable[[object], tuple[object, ...]]:
    return attrgetter(*(field.name for field in fields_of(cls)[start:stop]))


def record_of(acl: Acl, acl_id: bytes) -> AccessControlEntryRecord:
    """Return the metadata record of an entry. acl_id: 16 bytes, unique in the cluster."""
    return AccessControlEntryRecord(acl_id, *acl)
