"""Entry of an access control list: what a principal may or may not do to resources of a pattern.

Source: AclBinding, PatternType and AclPermissionType of Apache Kafka 4.4.0; KIP-290 (prefixes).
"""

from enum import IntEnum
from typing import Final, NamedTuple

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


def acl_of(record: AccessControlEntryRecord) -> Acl:
    """Return the entry of a metadata record."""
    return Acl(
        record.resource_type,
        record.resource_name,
        record.pattern_type,
        record.principal,
        record.host,
        record.operation,
        record.permission_type,
    )


def record_of(acl: Acl, acl_id: bytes) -> AccessControlEntryRecord:
    """Return the metadata record of an entry. acl_id: 16 bytes, unique in the cluster."""
    return AccessControlEntryRecord(
        id=acl_id,
        resource_type=acl.resource_type,
        resource_name=acl.name,
        pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission,
    )
