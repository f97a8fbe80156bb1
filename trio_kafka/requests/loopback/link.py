"""Link of this node to itself: asks its own handlers, as a link to another node asks that node."""

from typing import TypeVar, cast

import trio

from trio_kafka.attributes import frozen
from trio_kafka.peers.errors import DeadlineError, PeerError
from trio_kafka.peers.session import Request
from trio_kafka.protocol.schema import message_of
from trio_kafka.requests.loopback.client import InProcessClient
from trio_kafka.requests.loopback.exchange import RefusedError
from trio_kafka.security.principal import Principal

A = TypeVar("A")


@frozen(eq=False, kw_only=True)
class LoopbackLink:
    """Link to this node. See `peers.link.Link`.

    Requests of several tasks are served at the same time; on a link to another node they take
    turns. name: of the node, in errors. principal, client_id: see `InProcessClient.ask`.
    """

    name: str
    client: InProcessClient
    principal: Principal
    client_id: str = ""

    async def ask(self, request: Request[A], *, deadline: float, at_most: int | None = None) -> A:
        """Send a request and return its response. See `peers.link.Link`.

        A request to which the handlers have no response, such as one that an interceptor refuses,
        is a PeerError.
        """
        name = message_of(type(request)).name.removesuffix("Request")
        try:
            with trio.fail_at(deadline):
                response = await self.client.ask(
                    request, principal=self.principal, client_id=self.client_id, at_most=at_most
                )
        except trio.TooSlowError:
            raise DeadlineError(f"{self.name}: {name}: no answer in time", sent=True) from None
        except RefusedError as error:
            raise PeerError(f"{self.name}: {name}: {error}", sent=True) from error
        return cast("A", response)
