"""The active controller as a part of the node."""

from typing import Final

from trio_kafka.broker.node import Node, Part, Stage, tasks_end
from trio_kafka.broker.settings import controller_rules
from trio_kafka.controller.controller import Controller
from trio_kafka.metadata.features import SUPPORTED
from trio_kafka.metadata.image import ControllerRegistration
from trio_kafka.metadata.publisher import Loader
from trio_kafka.raft.driver import RaftDriver

_TASK: Final = "controller"


async def _open(node: Node) -> Controller:
    """Start the controller, which registers itself. Raises LogDirError."""
    me = ControllerRegistration(
        id=node.node_id, incarnation_id=node.world.random_bytes(16), features=SUPPORTED
    )
    controller = Controller(
        node[RaftDriver],
        node[Loader],
        me=me,
        rules=controller_rules(node.config, node.world),
        node=node.tree,
    )
    await node.tasks.start(_TASK, controller.run)
    return controller


CONTROLLER: Final = Part(
    kind=Controller,
    open=_open,
    stops={Stage.CONTROLLER: tasks_end(_TASK)},
    step="controller",
)
