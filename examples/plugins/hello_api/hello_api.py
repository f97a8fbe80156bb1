"""Hello (key 10100): greet a client, and name the node that served it.

Never waits. Needs no permission. An empty name is INVALID_REQUEST.
"""

from typing import ClassVar

from trio_kafka.plugin import Context, ErrorCode, KafkaError, api
from trio_kafka.protocol.schema import int16, int32, request, response, string


@request(key=10100, versions="0-1", flexible="0+")
class HelloRequest:
    """The name to greet, and (v1) the greeting."""

    response: ClassVar[type["HelloResponse"]]

    name: str = string()
    greeting: str = string("1+", default="Hello")


@response(HelloRequest)
class HelloResponse:
    """The text, and the node that served the request."""

    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    text: str = string()
    node_id: int = int32(default=-1)


@api(HelloRequest)
def hello(request: HelloRequest, context: Context) -> HelloResponse:
    if not request.name:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "want a name")
    return HelloResponse(text=f"{request.greeting}, {request.name}!", node_id=context.node_id)
