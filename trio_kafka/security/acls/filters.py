"""Filter of access control entries, as DescribeAcls and DeleteAcls have it.

Source: AclBindingFilter, ResourcePatternFilter and AccessControlEntryFilter of Apache Kafka 4.4.0.
"""

from typing import NamedTuple

from trio_kafka.security.acls.entries import (
    ANYTHING,
    Acl,
    PatternType,
    PermissionType,
    entry_fields,
)
from trio_kafka.security.operations import Operation
from trio_kafka.security.resources import ResourceType


class AclFilter(NamedTuple):
    """Filter of entries. None and the value ANY of a type match every value.

    pattern_type: MATCH: all patterns that cover the resource `name`.
    """

    resource_type: int = ResourceType.ANY
    name: str | None = None
    pattern_type: int = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: int = Operation.ANY
    permission: int = PermissionType.ANY

    def matches(self, acl: Acl) -> bool:
        """Return whether an entry passes."""
        return (
            self.resource_type in (ResourceType.ANY, acl.resource_type)
            and (self.principal is None or self.principal == acl.principal)
            and (self.host is None or self.host == acl.host)
            and self.operation in (Operation.ANY, acl.operation)
            and self.permission in (PermissionType.ANY, acl.permission)
            and self._matches_pattern(acl)
        )

    def only(self) -> Acl | None:
        """Return the one entry that can pass; None if several can."""
        if (
            self.name is None
            or self.principal is None
            or self.host is None
            or self.resource_type == ResourceType.ANY
            or self.pattern_type in (PatternType.ANY, PatternType.MATCH)
            or self.operation == Operation.ANY
            or self.permission == PermissionType.ANY
        ):
            return None
        return Acl._make(self)

    def _matches_pattern(self, acl: Acl) -> bool:
        covers = self.pattern_type == PatternType.MATCH
        if not covers and self.pattern_type not in (PatternType.ANY, acl.pattern_type):
            return False
        if self.name is None or self.name == acl.name:
            return True
        if not covers:
            return False
        if acl.pattern_type == PatternType.PREFIXED:
            return self.name.startswith(acl.name)
        return acl.name == ANYTHING


def filter_of(row: object) -> AclFilter:
    """Return the filter of a message."""
    return AclFilter._make(entry_fields(row))
