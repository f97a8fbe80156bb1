"""The listeners as a part of the node: bound at the start, and changed while it runs."""

from typing import Final

import trio

from trio_kafka.broker.dynamic_listeners import DynamicListeners
from trio_kafka.broker.errors import listen_error
from trio_kafka.broker.node import Node, Part, Stage, tasks_end
from trio_kafka.broker.parts.planes import Planes
from trio_kafka.errors import only_leaf
from trio_kafka.metadata.effective import DynamicSettings

# Task name.
PLANES_TASK: Final = "planes"


async def _open(node: Node) -> DynamicListeners:
    """Bind the listeners, which accept nothing until their planes `open`. Raises StartError."""
    planes, dynamic = node[Planes], node[DynamicSettings]
    listeners = DynamicListeners(node.world.network, node.config, node.tree)
    config = await listeners.servable(dynamic.config)
    try:
        await node.tasks.start(PLANES_TASK, listeners.run, planes.data, planes.control, config)
    except (OSError, ExceptionGroup) as error:
        leaf = only_leaf(error)
        if isinstance(leaf, OSError):
            raise listen_error(leaf) from error
        raise
    dynamic.follow(listeners.follow)
    return listeners


async def _drain(node: Node) -> None:
    """Read nothing more, and answer the requests in flight."""
    if not node.tasks.runs(PLANES_TASK):
        await trio.lowlevel.checkpoint()
        return
    deadline = trio.current_effective_deadline()
    async with trio.open_nursery() as nursery:
        for plane in node[Planes].all:
            nursery.start_soon(plane.drain, deadline, name=f"drain-{plane.name}")


LISTENERS: Final = Part(
    kind=DynamicListeners,
    open=_open,
    stops={Stage.NETWORK: _drain, Stage.HANDLERS: tasks_end(PLANES_TASK)},
    step="network",
)
