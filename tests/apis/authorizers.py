"""Authorizers for tests."""

from collections.abc import Callable

from trio_kafka.security.operations import Operation
from trio_kafka.security.principal import Principal
from trio_kafka.security.resources import Resource, ResourceType

Decision = tuple[Operation, ResourceType]
Rule = Callable[[Operation, Resource], bool]


class RuleAuthorizer:
    """Authorizer that asks a rule, and remembers what it was asked.

    decisions: operation and type of resource. principals: of the requests, with the address.
    """

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.decisions: set[Decision] = set()
        self.principals: set[tuple[Principal, str]] = set()

    def authorize(
        self, principal: Principal, host: str, operation: Operation, resource: Resource
    ) -> bool:
        self.decisions.add((operation, resource.type))
        self.principals.add((principal, host))
        return self.rule(operation, resource)

    def authorize_any(
        self, principal: Principal, host: str, operation: Operation, kind: ResourceType
    ) -> bool:
        return self.authorize(principal, host, operation, Resource(kind, "*"))


def deny_all() -> RuleAuthorizer:
    return RuleAuthorizer(lambda operation, resource: False)


def allow_only(*names: str) -> RuleAuthorizer:
    """Return an authorizer that allows everything on resources of these names."""
    return RuleAuthorizer(lambda operation, resource: resource.name in names)
