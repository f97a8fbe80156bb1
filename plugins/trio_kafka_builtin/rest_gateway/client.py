"""Requests of the gateway to the broker, made like those of any client, for one HTTP request."""

from typing import TypeVar

from attrs import frozen

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.image import TopicImage
from trio_kafka.model import Endpoint
from trio_kafka.peers.session import Request
from trio_kafka.plugin import Operation, PluginContext
from trio_kafka.plugin_host.mounts import Scope
from trio_kafka.protocol.errors import EncodeError
from trio_kafka.security.principal import Principal, parse_principal
from trio_kafka.security.resources import Resource, ResourceType
from trio_kafka_builtin.rest_gateway.settings import GatewaySettings
from trio_kafka_http.asgi_json import principal_of

A = TypeVar("A")  # class of a response


@frozen
class Client:
    """Client of the broker for one HTTP request. peer: the address of the HTTP client."""

    context: PluginContext[GatewaySettings]
    principal: Principal
    peer: Endpoint

    async def ask(self, request: Request[A]) -> A:
        """Send a request; return the response after the throttle time of this client.

        Raises KafkaError(INVALID_REQUEST) for a value that the protocol cannot carry, such as a
        name of 40,000 bytes.
        """
        try:
            answer: A = await self.context.ask(
                request,
                principal=self.principal,
                client_id=self.context.settings.client_id,
                peer=self.peer,
            )
        except EncodeError as error:
            raise KafkaError(ErrorCode.INVALID_REQUEST, str(error)) from None
        return answer

    def may_describe(self, topic: str) -> bool:
        """Return whether the HTTP client may see a topic."""
        authorizer = self.context.parts.authorizer
        resource = Resource(ResourceType.TOPIC, topic)
        return authorizer.authorize(self.principal, self.peer.host, Operation.DESCRIBE, resource)

    def topic(self, name: str) -> TopicImage:
        """Return a topic from the metadata.

        Raises KafkaError: TOPIC_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION.
        """
        if not self.may_describe(name):
            raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, f"topic {name}: not authorized")
        topic = self.context.parts.metadata.image.topics.get(name)
        if topic is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"no topic {name}")
        return topic


def client_of(context: PluginContext[GatewaySettings], scope: Scope) -> Client:
    """Return the client behind the scope of an HTTP request."""
    host, port = scope.get("client") or ("", 0)
    fixed = context.settings.principal
    principal = parse_principal(fixed) if fixed else principal_of(scope)
    return Client(context, principal, Endpoint(host, port))


def refused(code: int, message: str | None) -> KafkaError:
    """Make the error of a response; an unknown code becomes UNKNOWN_SERVER_ERROR."""
    codes = set(ErrorCode)
    return KafkaError(ErrorCode(code) if code in codes else ErrorCode.UNKNOWN_SERVER_ERROR, message)
