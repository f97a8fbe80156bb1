"""Dispatch of requests: find the route, decode the request, call the handler.

A plain handler never waits and takes no token; any task that has the request may call it. An async
handler runs in a handler task, under a token and in the cancel scope of that task. A large request
is decoded in steps.
"""

from contextlib import suppress

import trio

from trio_kafka.attributes import frozen
from trio_kafka.errors import ErrorCode, KafkaError, ProtocolError
from trio_kafka.model import code_of
from trio_kafka.network.reasons import CloseReason
from trio_kafka.network.request import Request
from trio_kafka.protocol.errors import ManyItemsError
from trio_kafka.requests.chunked_codec import LARGE
from trio_kafka.requests.completions import Completions
from trio_kafka.requests.context import Context
from trio_kafka.requests.handler_slot import HandlerSlot, SlotOwner
from trio_kafka.requests.parts import Parts
from trio_kafka.requests.replies import Route
from trio_kafka.requests.routes import API_VERSIONS, Routes
from trio_kafka.scheduling.chunked_work import Steps, step
from trio_kafka.security.authorizer import ALLOW_ALL


@frozen(kw_only=True)
class Dispatcher:
    """Dispatcher of a handler group. owner: has the tokens of async handlers."""

    routes: Routes
    parts: Parts
    completions: Completions
    owner: SlotOwner

    def perform(self, request: Request) -> bool:
        """Serve a request by a plain handler. There is no await, so no cancellation in between.

        Returns False, and has done nothing, if the handler is async.
        """
        route = request.route = self.routes[request.code]
        if route is None:
            self._respond_unsupported(request)
            return True
        if route.waits:
            return False
        if request.frame is not None and len(request.frame) > LARGE:
            self.completions.in_steps(request, self._perform_in_steps(request, route))
            return True
        message = self._decode(request, route)
        if message is not None:
            self._handle(request, route, message)
        return True

    async def perform_async(self, request: Request, scope: trio.CancelScope) -> None:
        """Serve a request by an async handler, and complete it.

        scope: cancelled if the peer disconnects while the request is parked.
        """
        route: Route = request.route
        request.waits_for = None
        steps = self._decode_in_steps(request, route)
        done = step(steps)  # most requests are decoded in one
        message = done.value if done else await self.completions.run_steps(steps)
        if message is None:
            return
        slot = HandlerSlot(self.owner, request, scope)
        try:
            await slot.take()
            allows_all = self.parts.authorizer is ALLOW_ALL
            context = Context(request, self.parts, route.version, slot, allows_all)
            result = await route.handler(message, context)
        except Exception as error:  # noqa: BLE001 - one request fails, the group continues
            slot.close()
            self.completions.fail(request, route, message, error)
        except BaseException:
            slot.close()
            if scope.cancel_called and slot.error is not None:
                self.completions.fail(request, route, message, slot.error)
            elif scope.cancel_called:
                request.respond(None)  # the peer has disconnected
            raise
        else:
            slot.close()
            self.completions.complete(request, route, message, result, has_yielded=True)

    def _perform_in_steps(self, request: Request, route: Route) -> Steps[None]:
        """Decode a large request in steps, then call a plain handler."""
        message = yield from self._decode_in_steps(request, route)
        if message is not None:
            self._handle(request, route, message)

    def _handle(self, request: Request, route: Route, message: object) -> None:
        """Call a plain handler and complete the request."""
        try:
            allows_all = self.parts.authorizer is ALLOW_ALL
            context = Context(request, self.parts, route.version, None, allows_all)
            result = route.handler(message, context)
        except Exception as error:  # noqa: BLE001 - one request fails, the group continues
            self.completions.fail(request, route, message, error)
        else:
            self.completions.complete(request, route, message, result)

    def _decode(self, request: Request, route: Route) -> object:
        """Return the message; None if the request was rejected, or continues in steps.

        Beside `_decode_in_steps`, because a generator would cost a small request a fifth more.
        """
        frame = request.frame
        if frame is None:
            return None
        try:
            return route.read(request, frame)
        except ManyItemsError:
            self.completions.in_steps(request, self._perform_in_steps(request, route))
            return None
        except (ProtocolError, UnicodeDecodeError) as error:
            request.refuse(CloseReason.UNDECODABLE, str(error))
            return None

    def _decode_in_steps(self, request: Request, route: Route) -> Steps[object]:
        """Return the message, in steps if it is large; None if the request was rejected."""
        frame = request.frame
        if frame is None:
            return None
        try:
            if len(frame) <= LARGE:
                with suppress(ManyItemsError):
                    return route.read(request, frame)
            return (yield from route.read_in_steps(request, frame))
        except (ProtocolError, UnicodeDecodeError) as error:
            request.refuse(CloseReason.UNDECODABLE, str(error))
            return None

    def _respond_unsupported(self, request: Request) -> None:
        """Close the connection of an unsupported key or version, unless it is ApiVersions.

        A client cannot know which of its ApiVersions versions the broker supports, so the response
        has version 0. Source: KIP-511.
        """
        route = self.routes[code_of(API_VERSIONS, 0)] if request.key == API_VERSIONS else None
        if route is None:
            request.refuse(CloseReason.UNKNOWN_API, f"key {request.key} version {request.version}")
        else:
            self.completions.fail(request, route, None, KafkaError(ErrorCode.UNSUPPORTED_VERSION))
