"""The stop of a broker: a list of its own, not the start in reverse.

Each step has its share of the deadline; its duration is logged and kept. What does not end in its
share is cancelled, and the next step goes on: logs are closed in any case.
"""

from collections.abc import Awaitable, Callable
from typing import Final

import trio

from trio_kafka.broker.broker import Broker
from trio_kafka.broker.parts.connections import LIMITS
from trio_kafka.broker.parts.groups import GROUPS
from trio_kafka.broker.parts.plugins import PLUGINS
from trio_kafka.broker.parts.quorum import LOG, WRITERS, lost_by
from trio_kafka.broker.parts.request_log import REQUEST_LOG
from trio_kafka.broker.startup.serving import PLANES
from trio_kafka.errors import KafkaError, LogDirError
from trio_kafka.introspect.log import get_logger
from trio_kafka.plugin_host.guard import PluginError

_logger: Final = get_logger(__name__)
_LEAST_S: Final = 0.01  # for a step that comes when all time is used up
_LOGGED_S: Final = 0.5  # for the last lines of the request log
# Shares of the time that is left, in the order of the steps.
_SHARES: Final = {
    "controlled shutdown": 0.3,
    "network": 0.3,
    "plugins": 0.3,
    "handlers": 0.05,
    "scheduler": 0.05,
    "coordinators": 0.05,
    "replication": 0.05,
    "controller": 0.05,
    "logs": 1.0,  # unwritten checkpoints are paid for at the next start
}


async def stop_broker(broker: Broker, deadline_s: float) -> None:
    """Stop in order. Takes `deadline_s` at most, but for a disk that does not answer.

    After a failure of a part other than a plugin, `broker.tasks.failure`: leaders do not move, as
    nothing can be committed; and unless a directory failed, the logs are left as after a crash, for
    recovery.
    """
    end = trio.current_time() + deadline_s
    tasks = broker.tasks
    _tell_failure(broker)
    steps: dict[str, Callable[[], Awaitable[None]]] = {
        "controlled shutdown": lambda: _leave(broker),
        "network": lambda: _drain(broker),
        "plugins": lambda: _stop_plugins(broker),
        "handlers": lambda: _stop_handlers(broker),
        "scheduler": lambda: tasks.stop("scheduler"),
        "coordinators": lambda: tasks.stop(GROUPS),
        "replication": lambda: tasks.stop("replication", "timers"),
        "controller": lambda: tasks.stop(*WRITERS),
        "logs": lambda: _close_logs(broker),
    }
    for name, step in steps.items():
        share_s = max((end - trio.current_time()) * _SHARES[name], _LEAST_S)
        with broker.stop.step(name), trio.move_on_after(share_s) as scope:
            await step()
        if scope.cancelled_caught:
            _logger.warning("step of the stop cut off", step=name, after_ms=round(share_s * 1000))
    _logger.info("broker stopped", node=broker.config.node_id, took_ms=broker.stop.total_ms)


def _is_broken(broker: Broker) -> bool:
    """A part has failed that the stop would need; a plugin is none."""
    return not isinstance(broker.tasks.failure, PluginError | None)


def _tell_failure(broker: Broker) -> None:
    failure = broker.tasks.failure
    if failure is not None:
        _logger.error("the broker stops: a part failed", reason=f"{failure!r}")


async def _leave(broker: Broker) -> None:
    """Leaders move, or give up their partitions, while this broker still serves."""
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
            _logger.warning("controlled shutdown: partitions are still led here")


async def _drain(broker: Broker) -> None:
    """What is in hand is answered; what is parked is answered with what there is."""
    broker.replicas.fetch.close()
    broker.groups.stop()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_close_produce, broker, name="close-produce")
        if broker.tasks.runs(PLANES):
            for plane in broker.planes:
                deadline = trio.current_effective_deadline()
                nursery.start_soon(plane.drain, deadline, name=f"drain-{plane.name}")


async def _stop_handlers(broker: Broker) -> None:
    """What was answered is logged before its writer goes."""
    with trio.move_on_after(_LOGGED_S):
        await broker.request_log.drain()
    await broker.tasks.stop(REQUEST_LOG, PLANES, LIMITS, "auto-topic-creation")


async def _stop_plugins(broker: Broker) -> None:
    """Each leaves its block in order, while the handlers still run for what it has to write."""
    await broker.plugins.stop()
    if left := broker.plugins.left_behind:
        _logger.error("plugins do not end", plugins="; ".join(left))
        broker.plugins.cancel_left_behind()
    else:
        await broker.tasks.stop(PLUGINS)


async def _close_produce(broker: Broker) -> None:
    """A slow directory has half of the time to take what is queued."""
    left_s = trio.current_effective_deadline() - trio.current_time()
    try:
        with trio.move_on_after(max(left_s, 0.0) / 2):
            await broker.replicas.queued_appends.wait_empty()
    finally:
        broker.replicas.produce.close()


async def _close_logs(broker: Broker) -> None:
    """The metadata log first: nobody may write to it when the marker of a clean stop is there."""
    await broker.tasks.stop(LOG, "log-manager")
    if _is_broken(broker) and not isinstance(broker.tasks.failure, LogDirError):
        return  # what is in memory cannot be trusted: whoever owns the broker abandons the logs
    metadata = broker.storage.metadata
    try:
        await broker.raft.close()
    except (LogDirError, OSError) as error:
        metadata.fail(error if isinstance(error, LogDirError) else lost_by(metadata, error))
    await broker.logs.close(broker.lifecycle.epoch)
    await broker.storage.close(broker.lifecycle.epoch)
    if metadata.offline is not None:
        broker.tasks.fail(metadata.offline)
