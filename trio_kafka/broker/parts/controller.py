"""The active controller as a part of the node, and its search for expired delegation tokens."""

from math import inf
from typing import Final

import trio

from trio_kafka.broker.node import Node, Part, Stage, tasks_end
from trio_kafka.broker.settings import controller_rules
from trio_kafka.controller.controller import Controller
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.features import SUPPORTED
from trio_kafka.metadata.image import ControllerRegistration, MetadataImage
from trio_kafka.metadata.publisher import Loader
from trio_kafka.periodic_jobs import Job, Scheduler
from trio_kafka.raft.driver import RaftDriver

_TASK: Final = "controller"
_EXPIRY: Final = "expireDelegationTokens"


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
    if node.config.delegation_token_secret_key:
        _add_expiry(node, controller)
    return controller


class TokenExpiry:
    """Publisher that arms the search for expired tokens while there are tokens."""

    def __init__(self, job: Job, image: MetadataImage) -> None:
        self._job = job
        self.publish(None, image)

    def publish(self, _delta: MetadataDelta | None, image: MetadataImage, /) -> None:
        if not image.tokens:
            self._job.disarm()
        elif not self._job.armed:
            self._job.arm()


def _add_expiry(node: Node, controller: Controller) -> None:
    """Search at each `delegation.token.expiry.check.interval.ms`, like Kafka's controller."""
    wall, loader = node.world.clock.wall, node[Loader]
    interval_s = node.config.delegation_token_expiry_check_interval_ms / 1000

    async def remove() -> None:
        deadline = trio.current_time() + node.config.request_timeout_ms / 1000
        await controller.remove_expired_tokens(wall() * 1000, deadline=deadline)

    def idle_s() -> float:
        first_ms = min((r.expiration_timestamp for r in loader.image.tokens.values()), default=inf)
        return max(0.0, first_ms / 1000 - wall())

    job = node[Scheduler].every(_EXPIRY, interval_s, remove, armed=False, idle_s=idle_s)
    loader.add(TokenExpiry(job, loader.image), "tokens")


CONTROLLER: Final = Part(
    kind=Controller,
    open=_open,
    stops={Stage.CONTROLLER: tasks_end(_TASK)},
    step="controller",
)
