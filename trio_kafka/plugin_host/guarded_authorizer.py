"""Authorizer of a plugin behind the guard: an exception denies the request, and is reported."""

from trio_kafka.attributes import frozen
from trio_kafka.plugin_host.guard import Owner, contained
from trio_kafka.security.authorizer import Authorizer
from trio_kafka.security.operations import Operation
from trio_kafka.security.principal import Principal
from trio_kafka.security.resources import Resource, ResourceType

_WHERE = "authorizer"


@frozen(eq=False)
class GuardedAuthorizer:
    """Authorizer of a plugin. Its exceptions fail the request and count as the plugin's."""

    authorizer: Authorizer
    _owner: Owner

    @property
    def name(self) -> str:
        return type(self.authorizer).__name__

    def authorize(
        self, principal: Principal, host: str, operation: Operation, resource: Resource
    ) -> bool:
        """Return the decision. Raises only an Exception, which was reported to the plugin."""
        with contained(self._owner, _WHERE):
            return bool(self.authorizer.authorize(principal, host, operation, resource))

    def authorize_any(
        self, principal: Principal, host: str, operation: Operation, kind: ResourceType
    ) -> bool:
        """Return the decision. Raises as `authorize`."""
        with contained(self._owner, _WHERE):
            return bool(self.authorizer.authorize_any(principal, host, operation, kind))
