"""Context of one request: the client, the parts of the broker, and what the client may do.

A handler gets a context beside the request. It states each permission that it needs by one of
three calls:

- `authorize` raises the KafkaError with which Kafka denies the operation on that resource.
- `is_authorized` returns a bool, where a denial concerns one item or another permission will do.
- `authorized` filters names, where Kafka leaves out silently what the client may not see.

Each costs one comparison while the authorizer is `ALLOW_ALL`.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import (
    Final,
    Literal,
    TypedDict,
    TypeVar,
    TypeVarTuple,
    Unpack,
    cast,
)

from trio_kafka.attributes import define
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.errors import KafkaError
from trio_kafka.metadata.endpoints import endpoint_on
from trio_kafka.metadata.image import ConfigResourceType, MetadataImage
from trio_kafka.model import Endpoint, NodeId, TopicId
from trio_kafka.network.request import ConnectionPort, Request
from trio_kafka.requests.handler_slot import HandlerSlot
from trio_kafka.requests.parts import FIELDS, Parts
from trio_kafka.security.acls.hosts import parse_address
from trio_kafka.security.acls.standard import StandardAuthorizer
from trio_kafka.security.authorizer import ALLOW_ALL
from trio_kafka.security.operations import Operation, bits, operations_in
from trio_kafka.security.resources import (
    DENIALS,
    OPERATIONS,
    THE_CLUSTER,
    Resource,
    ResourceType,
)

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class OneResource(TypedDict, total=False):
    """Resource of one permission, as a keyword argument: exactly one of these."""

    topic: str
    group: str
    transactional_id: str
    token: str
    user: str
    cluster: Literal[True]


class ManyResources(TypedDict, total=False):
    """Names of resources of one type, as a keyword argument: exactly one of these."""

    topics: Iterable[str]
    groups: Iterable[str]
    transactional_ids: Iterable[str]
    tokens: Iterable[str]
    users: Iterable[str]


_TYPES: Final = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "transactional_id": ResourceType.TRANSACTIONAL_ID,
    "token": ResourceType.DELEGATION_TOKEN,
    "user": ResourceType.USER,
}


@define(eq=False, repr=False)
class Context:
    """View of one request on the broker: its client, its permissions, and the broker's parts.

    version: of the API. slot: place of an async handler. allows_all: no authorizer decided when the
    request began, so permissions need not be asked for.
    """

    request: Request
    parts: Parts
    version: int
    slot: HandlerSlot | None = None
    allows_all: bool = False

    # --- the broker

    def __getitem__(self, kind: type[T]) -> T:
        """Return a part of the broker by its class, e.g. `context[GroupCoordinator]`.

        A use of a part that this broker does not have raises MissingPartError.
        """
        parts = self.parts
        name = FIELDS.get(kind)
        return parts[kind] if name is None else getattr(parts, name)

    @property
    def image(self) -> MetadataImage:
        """Metadata of the cluster at this moment; immutable."""
        return self.parts.metadata.image

    @property
    def config(self) -> BrokerConfig:
        """Settings of the broker at this moment; immutable."""
        return self.parts.config

    @property
    def node_id(self) -> NodeId:
        """Id of the broker."""
        return self.parts.node_id

    @property
    def cluster_id(self) -> str:
        """Id of the cluster."""
        return self.parts.cluster_id

    def endpoints(
        self, nodes: Iterable[NodeId], row: Callable[[NodeId, str, int, str | None], T]
    ) -> list[T]:
        """Return the addresses of brokers on the client's listener, for the rows of a response.

        row: makes a row of id, host, port and rack. A broker without an address has none.
        """
        endpoints = (endpoint_on(self.image, node, self.listener) for node in nodes)
        return [
            row(endpoint.node, endpoint.host, endpoint.port, endpoint.rack)
            for endpoint in endpoints
            if endpoint
        ]

    # --- the client

    @property
    def correlation(self) -> int:
        """Correlation id of the request."""
        return self.request.correlation

    @property
    def client_id(self) -> str:
        """Client id of the request; empty if the client sent none."""
        return self.request.client_id

    @property
    def principal(self) -> str:
        """Principal of the client, as `User:name`."""
        return self.request.connection.principal.text

    @property
    def connection(self) -> ConnectionPort:
        """Connection of the client."""
        return self.request.connection

    @property
    def peer(self) -> Endpoint:
        """Address of the client."""
        return self.request.connection.peer

    @property
    def client_host(self) -> str:
        """Host of the client as Java prints it: `/10.0.0.1`, `/0:0:0:0:0:0:0:1`."""
        zoneless = self.request.connection.peer.host.partition("%")[0]
        return f"/{parse_address(zoneless).text}"

    @property
    def listener(self) -> str:
        """Name of the listener that the request came through."""
        return self.request.connection.listener.name

    # --- permissions

    def authorize(self, operation: Operation, **resource: Unpack[OneResource]) -> None:
        """Require a permission: `context.authorize(Operation.READ, group=name)`.

        Raises KafkaError with the code of the resource's type, e.g. GROUP_AUTHORIZATION_FAILED.
        """
        if self.parts.authorizer is ALLOW_ALL:
            return
        target = _resource(resource)
        if not self._is_allowed(operation, target):
            raise KafkaError(
                DENIALS[target.type],
                f"{self.principal} has no permission {operation.name} on"
                f" {target.type.name.lower()} {target.name}: ask an administrator for it",
            )

    def is_authorized(self, operation: Operation, **resource: Unpack[OneResource]) -> bool:
        """Return whether the client has a permission. The arguments are those of `authorize`."""
        return self.parts.authorizer is ALLOW_ALL or self._is_allowed(
            operation, _resource(resource)
        )

    def authorize_on(self, operation: Operation, topic: TopicId | str) -> None:
        """Require a permission on a topic, by name or id; not on an unknown id, which names nothing
        and is no secret.

        Raises KafkaError(TOPIC_AUTHORIZATION_FAILED), without a message: it would tell the name.
        """
        name = topic if isinstance(topic, str) else self.image.topic_names.get(topic)
        if name is not None and not self.is_authorized(operation, topic=name):
            raise KafkaError(DENIALS[ResourceType.TOPIC])

    def authorized(self, operation: Operation, **names: Unpack[ManyResources]) -> Iterable[str]:
        """Return the names on which the client has a permission, in their order.

        `context.authorized(Operation.DESCRIBE, topics=names)`. The authorizer is asked for a name
        when it is reached, so that a long list can be walked in slices.
        """
        ((plural, values),) = names.items()
        all_names = cast("Iterable[str]", values)
        if self.parts.authorizer is ALLOW_ALL:
            return all_names
        kind = _TYPES[plural.removesuffix("s")]
        return (name for name in all_names if self._is_allowed(operation, Resource(kind, name)))

    def is_authorized_on_any(self, operation: Operation, kind: ResourceType) -> bool:
        """Return whether the client has a permission on any resource of a type (KIP-679)."""
        connection = self.request.connection
        return self.parts.authorizer.authorize_any(
            connection.principal, connection.peer.host, operation, kind
        )

    def authorized_operations(self, **resource: Unpack[OneResource]) -> int:
        """Return the operations that the client may perform on a resource, as a bit field."""
        target = _resource(resource)
        applicable = OPERATIONS[target.type]
        if self.parts.authorizer is ALLOW_ALL:
            return applicable
        if isinstance(self.parts.authorizer, StandardAuthorizer):
            connection = self.request.connection
            return applicable & self.parts.authorizer.allowed(
                connection.principal, connection.peer.host, target
            )
        return bits(
            operation
            for operation in operations_in(applicable)
            if self._is_allowed(operation, target)
        )

    def authorize_settings(self, operation: Operation, kind: int, name: str) -> None:
        """Require a permission on a resource with settings: the topic, the group or the cluster.

        kind: a ConfigResourceType. Raises KafkaError.
        """
        if kind == ConfigResourceType.TOPIC:
            self.authorize(operation, topic=name)
        elif kind == ConfigResourceType.GROUP:
            self.authorize(operation, group=name)
        else:
            self.authorize(operation, cluster=True)

    def authorize_local(self, operation: Operation) -> None:
        """Require a permission on the cluster, for a change by an API that is not Kafka's.

        Without an authorizer that decides, the peer must be on this machine: see
        `requests.authority`. Raises KafkaError(CLUSTER_AUTHORIZATION_FAILED).
        """
        if self.parts.authorizer is ALLOW_ALL:
            self.parts.local_changes.authorize(operation, self.request)
        else:
            self.authorize(operation, cluster=True)

    def _is_allowed(self, operation: Operation, resource: Resource) -> bool:
        connection = self.request.connection
        return self.parts.authorizer.authorize(
            connection.principal, connection.peer.host, operation, resource
        )

    # --- waiting

    async def parked(
        self,
        wait: Callable[[*Ts], Awaitable[T]],
        *args: *Ts,
        deadline: float = float("inf"),
    ) -> T:
        """Await wait(*args) without holding a handler's place. For async handlers.

        Raises trio.TooSlowError at the deadline (trio.current_time()). Ends the request if the peer
        disconnects meanwhile. The handler has a place again when this returns or raises. The frame
        of the request stays valid.
        """
        if self.slot is None:
            raise RuntimeError("a plain handler cannot wait: return a Delayed, or make it async")
        return await self.slot.parked(wait, *args, deadline=deadline)


def _resource(keywords: Mapping[str, object]) -> Resource:
    """Return the resource of keyword arguments. Raises ValueError unless it is exactly one."""
    ((kind, name),) = keywords.items()
    return THE_CLUSTER if kind == "cluster" else Resource(_TYPES[kind], str(name))
