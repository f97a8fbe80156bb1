"""Place of the authorizer that a plugin contributes: `authorizer.class.name=plugin.<name>`.

While the plugin does not run (before its start, or after a failure), nothing is allowed except to
the broker itself.
"""

from collections.abc import Sequence

from trio_kafka.security.authorizer import Authorizer
from trio_kafka.security.operations import Operation
from trio_kafka.security.principal import BROKER, Principal
from trio_kafka.security.resources import Resource, ResourceType


class ContributedAuthorizer:
    """Authorizer that asks the one of a plugin. plugin: its name."""

    def __init__(self, plugin: str) -> None:
        self.plugin = plugin
        self._deciding: Authorizer | None = None

    def swap(self, leaving: Sequence[Authorizer], coming: Sequence[Authorizer]) -> None:
        """Replace authorizers of the plugin in one step. Raises ValueError for a second one."""
        remaining = None if self._deciding in leaving else self._deciding
        if len(coming) + (remaining is not None) > 1:
            raise ValueError(f"plugin {self.plugin} has an authorizer already: want one")
        self._deciding = coming[0] if coming else remaining

    def authorize(
        self, principal: Principal, host: str, operation: Operation, resource: Resource
    ) -> bool:
        """Return the decision of the plugin; False without one."""
        if principal == BROKER:
            return True
        deciding = self._deciding
        return deciding is not None and deciding.authorize(principal, host, operation, resource)

    def authorize_any(
        self, principal: Principal, host: str, operation: Operation, kind: ResourceType
    ) -> bool:
        """Return the decision of the plugin; False without one."""
        if principal == BROKER:
            return True
        deciding = self._deciding
        return deciding is not None and deciding.authorize_any(principal, host, operation, kind)
