"""Stop of a node: the stages of its parts, not the start in reverse.

Each stage gets a share of the time left; its duration is logged and kept. A stage that exceeds its
share is cancelled and the next one runs: the logs are closed in any case. Within a stage, parts
stop one after the other, the last opened first. Those of the network stop together, because each
answers requests that others hold.
"""

from typing import Final

import trio

from trio_kafka.broker.lifecycle import Lifecycle
from trio_kafka.broker.node import Node, Stage
from trio_kafka.introspect.log import get_logger

_logger: Final = get_logger(__name__)
_MIN_STEP_S: Final = 0.01  # for a step that starts after the deadline
# Shares of the time left.
SHARES: Final = {
    Stage.LEAVING: 0.3,
    Stage.NETWORK: 0.3,
    Stage.PLUGINS: 0.3,
    Stage.HANDLERS: 0.05,
    Stage.SCHEDULER: 0.05,
    Stage.COORDINATORS: 0.05,
    Stage.REPLICATION: 0.05,
    Stage.CONTROLLER: 0.05,
    Stage.LOGS: 1.0,  # checkpoints that are not written cost time at the next start
}
_TOGETHER: Final = Stage.NETWORK


async def stop_node(node: Node, deadline_s: float) -> None:
    """Stop the node in order within `deadline_s`, unless a disk does not respond.

    After the failure of a part other than a plugin (`node.is_broken`), leaders do not move, because
    nothing can be committed. Unless a directory failed, the logs are then left as after a crash,
    for recovery.
    """
    end = trio.current_time() + deadline_s
    failure = node.tasks.failure
    if failure is not None:
        _logger.error("stopping because a part failed", reason=f"{failure!r}")
        lifecycle = node.get(Lifecycle)
        if lifecycle is not None:
            lifecycle.failure = str(failure) or type(failure).__name__
    for stage in Stage:
        if not any(stage in part.stops for part in node.open_parts):
            continue
        share_s = max((end - trio.current_time()) * SHARES[stage], _MIN_STEP_S)
        with node.stop.step(stage.value), trio.move_on_after(share_s) as scope:
            await _stop_parts(node, stage)
        if scope.cancelled_caught:
            _logger.warning("stop step cancelled", step=stage.value, after_ms=round(share_s * 1000))
    _logger.info("broker stopped", node=node.config.node_id, took_ms=node.stop.total_ms)


async def _stop_parts(node: Node, stage: Stage) -> None:
    stopping = [part for part in reversed(node.open_parts) if stage in part.stops]
    if stage is not _TOGETHER:
        for part in stopping:
            await part.stops[stage](node)
        return
    async with trio.open_nursery() as nursery:
        for part in stopping:
            name = f"stop-{part.kind.__name__}"
            nursery.start_soon(part.stops[stage], node, name=name)
