"""One listener: a bound socket, its acceptor and its processors, in one nursery."""

from collections.abc import Sequence

import trio

from trio_kafka.introspect.tree import Node
from trio_kafka.model import Endpoint
from trio_kafka.network.acceptor import Acceptor
from trio_kafka.network.processor import Processor
from trio_kafka.network.turn import Turn
from trio_kafka.world.protocols import Listener


async def serve_listener(
    listener: Listener,
    processors: Sequence[Processor],
    turn: Turn,
    node: Node,
    *,
    name: str,
    opened: trio.Event,
    accepting: trio.CancelScope,
    task_status: trio.TaskStatus[Endpoint] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Own one bound socket until cancelled; started when every processor runs.

    name: of the acceptor.
    opened: nothing is accepted before it is set; peers wait in the kernel's queue.
    accepting: cancelled, it stops the acceptor and closes the socket; connections go on.
    """
    acceptor = Acceptor(listener, processors, turn)
    async with trio.open_nursery() as nursery:
        with accepting:
            try:
                for processor in processors:
                    await nursery.start(processor.run)
                task_status.started(listener.address)
                await opened.wait()
                with node.child(name, "task", acceptor.figures):
                    await acceptor.run()
            finally:
                listener.close()
