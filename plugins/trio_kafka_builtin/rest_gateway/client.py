"""The gateway as a client of the broker: requests like any other client's, for one HTTP request."""

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.plugin import Endpoint, PluginContext, Principal, TopicImage
from trio_kafka_builtin.rest_gateway.plugin import GatewaySettings


@frozen
class Client:
    """principal: as whom it asks. peer: who is at the other end of the HTTP connection."""

    context: PluginContext[GatewaySettings]
    principal: Principal
    peer: Endpoint

    async def ask(self, request: object) -> Any:
        """The answer, given when the time is over that this client is throttled for."""
        return await self.context.ask(
            request,
            principal=self.principal,
            client_id=self.context.settings.client_id,
            peer=self.peer,
        )


def topic_of(context: PluginContext[GatewaySettings], name: str) -> TopicImage:
    """As the metadata say. Raises KafkaError(UNKNOWN_TOPIC_OR_PARTITION)."""
    topic = context.parts.metadata.image.topics.get(name)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"no topic {name}")
    return topic


def client_of(context: PluginContext[GatewaySettings], scope: Mapping[str, Any]) -> Client:
    """Of a request's scope."""
    host, port = scope.get("client") or ("", 0)
    kind, _, name = context.settings.principal.partition(":")
    return Client(context, Principal(kind, name), Endpoint(host, port))


def refused(code: int, message: str | None) -> KafkaError:
    """The error of an answer. A code that nobody knows is UNKNOWN_SERVER_ERROR."""
    known = set(ErrorCode)
    return KafkaError(ErrorCode(code) if code in known else ErrorCode.UNKNOWN_SERVER_ERROR, message)
