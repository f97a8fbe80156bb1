"""Kafka's standard authorizer: it decides by the access control entries of the cluster.

Source: StandardAuthorizer of Apache Kafka 4.4.0; KIP-801.
"""

from collections.abc import Iterable
from typing import Final

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.security.acls.index import AclIndex
from trio_kafka.security.operations import Operation
from trio_kafka.security.principal import BROKER, Principal
from trio_kafka.security.resources import Resource, ResourceType

_ANY_NAME: Final = "hardcode"  # name of a resource that Kafka asks for before entries of a type


class StandardAuthorizer:
    """Authorizer of one broker.

    index: of the entries; its owner changes it. loaded: set by its owner when the entries of the
        cluster are in it. super_users: principals that may do everything, with the broker itself.
    allow_unmatched: allow what no entry covers.
    """

    def __init__(self, super_users: Iterable[str] = (), *, allow_unmatched: bool = False) -> None:
        self.index = AclIndex()
        self.loaded = False
        self.super_users = frozenset((*super_users, BROKER.text))
        self.allow_unmatched = allow_unmatched

    def authorize(
        self, principal: Principal, host: str, operation: Operation, resource: Resource
    ) -> bool:
        """Decide by the entries. Raises KafkaError(UNKNOWN_SERVER_ERROR) before they are loaded."""
        return bool(self.allowed(principal, host, resource) >> operation & 1)

    def authorize_any(
        self, principal: Principal, host: str, operation: Operation, kind: ResourceType
    ) -> bool:
        """Decide about any resource of a type. Raises as `authorize`."""
        if self.authorize(principal, host, operation, Resource(kind, _ANY_NAME)):
            return True
        return self.index.allows_any(principal.text, host, operation, kind)

    def allowed(self, principal: Principal, host: str, resource: Resource) -> int:
        """Return all operations that the principal may perform on a resource, as bits.

        Raises KafkaError(UNKNOWN_SERVER_ERROR) before the entries are loaded.
        """
        text = principal.text
        if text in self.super_users:
            return -1
        if not self.loaded:
            raise KafkaError(
                ErrorCode.UNKNOWN_SERVER_ERROR, "the ACLs are not loaded yet: try again"
            )
        allow, deny, matched = self.index.verdict(text, host, resource.type, resource.name)
        if matched or not self.allow_unmatched:
            return allow & ~deny
        return -1
