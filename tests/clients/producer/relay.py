"""Relay between clients and a broker process, which can lose the broker's answers."""

import trio
from attrs import define, field

from trio_kafka.testing.ports import LOOPBACK


@define(eq=False)
class Relay:
    """Forwards the bytes of each connection. loses_answers: discard those from the broker.

    What was discarded is missing in the stream: `cut` the connections afterwards.
    """

    port: int
    target: tuple[str, int]
    loses_answers: bool = field(default=False, init=False)
    lost: int = field(default=0, init=False)
    _changed: trio.Event = field(factory=trio.Event, init=False)
    _scopes: set[trio.CancelScope] = field(factory=set, init=False)

    async def run(self, *, task_status: trio.TaskStatus[object] = trio.TASK_STATUS_IGNORED) -> None:
        await trio.serve_tcp(self._serve, self.port, host=LOOPBACK, task_status=task_status)

    async def wait_lost(self, size: int) -> None:
        """Discard answers from now on, and wait until these are so many bytes."""
        self.lost, self.loses_answers = 0, True
        while self.lost < size:
            await self._changed.wait()

    def cut(self) -> None:
        """Close all connections, and forward the answers on new ones."""
        self.loses_answers = False
        for scope in self._scopes:
            scope.cancel()

    async def _serve(self, client: trio.SocketStream) -> None:
        with trio.CancelScope() as scope:
            self._scopes.add(scope)
            try:
                async with (
                    client,
                    await trio.open_tcp_stream(*self.target) as broker,
                    trio.open_nursery() as nursery,
                ):
                    nursery.start_soon(self._forward_requests, client, broker, scope)
                    await self._forward_answers(client, broker)
                    scope.cancel()
            except* OSError:
                pass  # the broker is down: the client sees a closed connection
            finally:
                self._scopes.discard(scope)

    async def _forward_requests(
        self, client: trio.SocketStream, broker: trio.SocketStream, scope: trio.CancelScope
    ) -> None:
        try:
            async for data in client:
                await broker.send_all(data)
        except trio.BrokenResourceError:
            pass
        scope.cancel()

    async def _forward_answers(self, client: trio.SocketStream, broker: trio.SocketStream) -> None:
        try:
            async for data in broker:
                if self.loses_answers:
                    self.lost += len(data)
                    self._changed.set()
                    self._changed = trio.Event()
                else:
                    await client.send_all(data)
        except trio.BrokenResourceError:
            pass
