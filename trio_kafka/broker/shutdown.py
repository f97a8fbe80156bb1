"""The stop of a broker: a list of its own, not the start in reverse.

Each step has its share of the deadline; its duration is logged and kept. What does not end in its
share is cancelled, and the next step goes on: logs are closed in any case.
"""

from collections.abc import Awaitable, Callable
from typing import Final

import trio

from trio_kafka.broker.broker import Broker
from trio_kafka.errors import KafkaError
from trio_kafka.introspect.log import get_logger

_logger: Final = get_logger(__name__)
# Shares of the deadline, in the order of the steps.
_SHARES: Final = {
    "controlled shutdown": 0.3,
    "network": 0.3,
    "handlers": 0.05,
    "scheduler": 0.05,
    "replication": 0.05,
    "controller": 0.05,
    "logs": 1.0,  # all that is left: unwritten checkpoints are paid for at the next start
}


async def stop_broker(broker: Broker, deadline_s: float) -> None:
    """Stop in order. Takes `deadline_s` at most, but for a disk that does not answer."""
    end = trio.current_time() + deadline_s
    steps: dict[str, Callable[[], Awaitable[None]]] = {
        "controlled shutdown": lambda: _leave(broker),
        "network": lambda: _drain(broker),
        "handlers": lambda: _stop_tasks(broker, "plane data", "auto-topic-creation"),
        "scheduler": lambda: _stop_tasks(broker, "scheduler"),
        "replication": lambda: _stop_tasks(broker, "replication", "timers"),
        "controller": lambda: _stop_tasks(broker, "controller", "metadata"),
        "logs": lambda: _close_logs(broker),
    }
    for name, step in steps.items():
        began = broker.world.clock.elapsed()
        left = end - trio.current_time()
        with trio.move_on_after(max(left * _SHARES[name], 0.01)) as scope:
            await step()
        broker.stopped[name] = took = broker.world.clock.elapsed() - began
        tell = _logger.warning if scope.cancelled_caught else _logger.debug
        tell(
            "step of the stop",
            step=name,
            took_ms=round(took * 1000, 1),
            in_time=not scope.cancelled_caught,
        )
    _logger.info(
        "broker stopped",
        node=broker.config.node_id,
        took_ms=round(sum(broker.stopped.values()) * 1000),
    )


async def _leave(broker: Broker) -> None:
    """Leaders move, or give up their partitions, while this broker still serves."""
    if not broker.config.controlled_shutdown_enable:
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
    broker.replicas.produce.close()
    await broker.plane.drain(trio.current_effective_deadline())


async def _stop_tasks(broker: Broker, *names: str) -> None:
    for name in names:
        running = broker.running.get(name)
        if running is not None:
            await running.stop()


async def _close_logs(broker: Broker) -> None:
    """The metadata log first: nobody may write to it when the marker of a clean stop is there."""
    await _stop_tasks(broker, "raft", "log-manager")
    await broker.raft.close()
    await broker.logs.close(broker.lifecycle.epoch)
    await broker.storage.close(broker.lifecycle.epoch)
