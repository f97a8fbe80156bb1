"""A node that answers as a test says, on a machine of a simulated world."""

from collections.abc import AsyncIterator, Callable, Generator
from contextlib import asynccontextmanager
from typing import Any

import trio
from attrs import define, field

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.model import Endpoint
from trio_kafka.peers.link import StreamLink
from trio_kafka.peers.session import Profile, Session, Step, exchange
from trio_kafka.protocol.compiler import decoder, to_bytes
from trio_kafka.protocol.headers import RequestHeader, request_header_version
from trio_kafka.protocol.messages.k17_sasl_handshake import (
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from trio_kafka.protocol.messages.k18_api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from trio_kafka.protocol.messages.k36_sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from trio_kafka.protocol.schema import message_of
from trio_kafka.protocol.versions import covers
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse
from trio_kafka.testing.scripted_client import ScriptedClient
from trio_kafka.wire.server import HEAD, small_answer
from trio_kafka.world.world import World

PORT = 9092
PASSWORD = b"\0link\0secret"
REQUESTS = (EchoRequest, ApiVersionsRequest, SaslHandshakeRequest, SaslAuthenticateRequest)


def echo(request: EchoRequest) -> EchoResponse:
    return EchoResponse(text=request.text, number=request.number)


def versions(request: ApiVersionsRequest) -> ApiVersionsResponse:
    del request
    return served({10100: (0, 1), 17: (1, 1), 18: (0, 4), 36: (0, 2)})


def served(keys: dict[int, tuple[int, int]]) -> ApiVersionsResponse:
    return ApiVersionsResponse(api_keys=[ApiVersion(key, *range_) for key, range_ in keys.items()])


def mechanisms(request: SaslHandshakeRequest) -> SaslHandshakeResponse:
    return SaslHandshakeResponse(0 if request.mechanism == "PLAIN" else 33, ["PLAIN"])


def authenticate(request: SaslAuthenticateRequest) -> SaslAuthenticateResponse:
    code = 0 if request.auth_bytes == PASSWORD else ErrorCode.SASL_AUTHENTICATION_FAILED
    return SaslAuthenticateResponse(code, session_lifetime_ms=10_000)


def log_in(password: bytes = PASSWORD) -> Generator[Step, object, float]:
    """A handshake of two steps; the session ends ten seconds later."""
    yield from exchange(SaslHandshakeRequest("PLAIN"))
    answer = yield from exchange(SaslAuthenticateRequest(password))
    if answer.error_code:
        raise KafkaError(ErrorCode.SASL_AUTHENTICATION_FAILED)
    return answer.session_lifetime_ms / 1000


@define(eq=False)
class Node:
    """Answers requests by their class. None: no answer; bytes: sent as they are.

    requests: number of the connection, version and request, in the order of their arrival.
    lost: connections that a client has closed.
    """

    answers: dict[type[Any], Callable[[Any], Any]] = field(
        factory=lambda: {
            EchoRequest: echo,
            ApiVersionsRequest: versions,
            SaslHandshakeRequest: mechanisms,
            SaslAuthenticateRequest: authenticate,
        }
    )
    requests: list[tuple[int, int, Any]] = field(factory=list)
    connections: int = 0
    lost: int = 0

    async def serve(
        self,
        world: World,
        port: int = PORT,
        *,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Serve until cancelled, which closes all connections."""
        listener = await world.network.listen("", port)
        try:
            async with trio.open_nursery() as nursery:
                task_status.started()
                while True:
                    client = ScriptedClient(await listener.accept())
                    self.connections += 1
                    nursery.start_soon(self._serve_client, client, self.connections)
        finally:
            listener.close()

    async def _serve_client(self, client: ScriptedClient, connection: int) -> None:
        try:
            while True:
                frame = memoryview(await client.receive_frame())
                code, correlation, _ = HEAD(frame, 0)
                answer = self._answer(connection, frame, code >> 16, code & 0xFFFF, correlation)
                if answer is not None:
                    await client.send(answer)
        except (EOFError, OSError):
            self.lost += 1
        finally:
            client.close()

    def _answer(
        self, connection: int, frame: memoryview, key: int, version: int, correlation: int
    ) -> bytes | None:
        kinds = (*self.answers, *REQUESTS)
        kind = next(kind for kind in kinds if message_of(kind).key == key)
        message = message_of(kind)
        header = request_header_version(message, version)
        _, position = decoder(RequestHeader, header)(frame, 0)
        request, _ = decoder(kind, version)(frame, position)
        self.requests.append((connection, version, request))
        answer = self.answers[kind](request)
        if answer is None or isinstance(answer, bytes):
            return answer
        flexible = key != 18 and covers(message.flexible, version)
        return small_answer(correlation, to_bytes(answer, version), flexible=flexible)

    @property
    def echoes(self) -> list[str]:
        return [request.text for _, _, request in self.requests if isinstance(request, EchoRequest)]


@asynccontextmanager
async def running(node: Node, world: World, port: int = PORT) -> AsyncIterator[trio.CancelScope]:
    """Serve during the block; cancelling the scope stops the node before its end."""
    serving = trio.CancelScope()

    async def serve(*, task_status: trio.TaskStatus[None]) -> None:
        with serving:
            await node.serve(world, port, task_status=task_status)

    async with trio.open_nursery() as nursery:
        await nursery.start(serve)
        yield serving
        serving.cancel()


def link_from(world: World, host: str = "there", **options: Any) -> StreamLink:
    """A link of a machine to the node on another one."""
    defaults: dict[str, Any] = {
        "name": "node 2",
        "world": world,
        "address": lambda: Endpoint(host, PORT),
        "session": lambda: Session(Profile(client_id="link")),
    }
    return StreamLink(**{**defaults, **options})
