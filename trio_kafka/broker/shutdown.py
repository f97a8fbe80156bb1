"""Stop of a broker: its own list of steps, not the start in reverse.

Each step gets a share of the time left; its duration is logged and kept. A step that exceeds its
share is cancelled and the next one runs: the logs are closed in any case.
"""

from collections.abc import Awaitable, Callable
from typing import Final

import trio

from trio_kafka.broker.parts.cleaner import CLEANER
from trio_kafka.broker.parts.connections import LIMITS
from trio_kafka.broker.parts.groups import GROUPS
from trio_kafka.broker.parts.plugins import PLUGINS
from trio_kafka.broker.parts.quorum import LOG, WRITERS, lost_by
from trio_kafka.broker.parts.request_log import REQUEST_LOG
from trio_kafka.broker.running_broker import RunningBroker
from trio_kafka.broker.startup.serving import PLANES
from trio_kafka.errors import KafkaError, LogDirError
from trio_kafka.introspect.log import get_logger
from trio_kafka.plugin_host.guard import PluginError

_logger: Final = get_logger(__name__)
_MIN_STEP_S: Final = 0.01  # for a step that starts after the deadline
_REQUEST_LOG_S: Final = 0.5  # for the last lines of the request log
# Shares of the time left, in the order of the steps.
_SHARES: Final = {
    "controlled shutdown": 0.3,
    "network": 0.3,
    "plugins": 0.3,
    "handlers": 0.05,
    "scheduler": 0.05,
    "coordinators": 0.05,
    "replication": 0.05,
    "controller": 0.05,
    "logs": 1.0,  # checkpoints that are not written cost time at the next start
}


async def stop_broker(broker: RunningBroker, deadline_s: float) -> None:
    """Stop the broker in order within `deadline_s`, unless a disk does not respond.

    After the failure of a part other than a plugin (`broker.tasks.failure`), leaders do not move,
    because nothing can be committed. Unless a directory failed, the logs are then left as after a
    crash, for recovery.
    """
    end = trio.current_time() + deadline_s
    tasks = broker.tasks
    _log_failure(broker)
    steps: dict[str, Callable[[], Awaitable[None]]] = {
        "controlled shutdown": lambda: _leave(broker),
        "network": lambda: _drain(broker),
        "plugins": lambda: _stop_plugins(broker),
        "handlers": lambda: _stop_handlers(broker),
        "scheduler": lambda: tasks.stop("scheduler", CLEANER),
        "coordinators": lambda: tasks.stop(GROUPS),
        "replication": lambda: tasks.stop("replication", "timers"),
        "controller": lambda: tasks.stop(*WRITERS),
        "logs": lambda: _close_logs(broker),
    }
    for name, step in steps.items():
        share_s = max((end - trio.current_time()) * _SHARES[name], _MIN_STEP_S)
        with broker.stop.step(name), trio.move_on_after(share_s) as scope:
            await step()
        if scope.cancelled_caught:
            _logger.warning("stop step cancelled", step=name, after_ms=round(share_s * 1000))
    _logger.info("broker stopped", node=broker.config.node_id, took_ms=broker.stop.total_ms)


def _is_broken(broker: RunningBroker) -> bool:
    """Return True if a part that the stop needs has failed; plugins do not count."""
    return not isinstance(broker.tasks.failure, PluginError | None)


def _log_failure(broker: RunningBroker) -> None:
    failure = broker.tasks.failure
    if failure is not None:
        _logger.error("stopping because a part failed", reason=f"{failure!r}")


async def _leave(broker: RunningBroker) -> None:
    """Move leaders, or give up partitions, while this broker still serves."""
    broker.lifecycle.leave()
    if not broker.config.controlled_shutdown_enable or _is_broken(broker):
        await trio.lowlevel.checkpoint()
        return
    try:
        moved = await broker.lifecycle.shut_down(trio.current_effective_deadline())
    except KafkaError as error:
        _logger.warning("controlled shutdown failed", reason=str(error))
    else:
        if not moved:
            _logger.warning("controlled shutdown incomplete, this broker still leads partitions")


async def _drain(broker: RunningBroker) -> None:
    """Answer requests in flight; parked requests are answered with what is there."""
    broker.replicas.fetch.close()
    broker.replicas.deletions.close()
    broker.groups.stop()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_close_produce, broker, name="close-produce")
        if broker.tasks.runs(PLANES):
            for plane in broker.planes:
                deadline = trio.current_effective_deadline()
                nursery.start_soon(plane.drain, deadline, name=f"drain-{plane.name}")


async def _stop_handlers(broker: RunningBroker) -> None:
    """Write pending lines of the request log, then stop its writer and the handlers."""
    with trio.move_on_after(_REQUEST_LOG_S):
        await broker.request_log.drain()
    await broker.tasks.stop(REQUEST_LOG, PLANES, LIMITS, "auto-topic-creation")
    broker.parts.quotas.close()


async def _stop_plugins(broker: RunningBroker) -> None:
    """Stop plugins in order while handlers still run for their last requests."""
    await broker.plugins.stop()
    if left := broker.plugins.abandoned:
        _logger.error("plugins abandoned", plugins="; ".join(left))
        broker.plugins.cancel_abandoned()
    else:
        await broker.tasks.stop(PLUGINS)


async def _close_produce(broker: RunningBroker) -> None:
    """Wait for queued appends of slow directories for half of the time left."""
    left_s = trio.current_effective_deadline() - trio.current_time()
    try:
        with trio.move_on_after(max(left_s, 0.0) / 2):
            await broker.replicas.queued_appends.wait_empty()
    finally:
        broker.replicas.produce.close()


async def _close_logs(broker: RunningBroker) -> None:
    """Close the logs, the metadata log first: no write may follow the clean-shutdown marker."""
    await broker.tasks.stop(LOG, "log-manager")
    if _is_broken(broker) and not isinstance(broker.tasks.failure, LogDirError):
        return  # state in memory cannot be trusted: `Startup.abandon` releases the logs
    metadata = broker.storage.metadata
    try:
        await broker.raft.close()
    except (LogDirError, OSError) as error:
        metadata.fail(error if isinstance(error, LogDirError) else lost_by(metadata, error))
    await broker.logs.close(broker.lifecycle.epoch)
    await broker.storage.close(broker.lifecycle.epoch)
    if metadata.offline is not None:
        broker.tasks.fail(metadata.offline)
