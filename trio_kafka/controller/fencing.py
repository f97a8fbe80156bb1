"""Fencing of silent brokers: when each sent its last heartbeat, and the task that fences them."""

from functools import partial
from math import inf
from typing import NoReturn

import trio

from trio_kafka.controller import brokers
from trio_kafka.controller.decision import ControllerSettings, Decision
from trio_kafka.controller.writer import Writer
from trio_kafka.introspect.declared_waits import waits_for_work
from trio_kafka.model import NodeId


class Fencing:
    """Sessions of brokers with an active controller. `run` must run while it is active.

    A new controller starts without any session, and learns them by heartbeats. me: the broker in
    this process. It has no session, as it is alive while this code runs.
    """

    def __init__(self, writer: Writer, settings: ControllerSettings, me: NodeId) -> None:
        self._writer = writer
        self._settings = settings
        self._me = me
        self._timeout_s = settings.broker_session_timeout_ms / 1000
        self._heartbeats: dict[NodeId, float] = {}  # times of the last heartbeats, the oldest first
        self._touched = trio.Event()

    def alive(self, broker_id: NodeId) -> bool:
        """Return whether a broker has sent a heartbeat lately."""
        return trio.current_time() - self._heartbeats.get(broker_id, -inf) < self._timeout_s

    def touch(self, broker_id: NodeId) -> None:
        """Note a heartbeat of a broker."""
        if broker_id != self._me:
            self.forget(broker_id)
            self._heartbeats[broker_id] = trio.current_time()
            self._touched.set()

    def forget(self, broker_id: NodeId) -> None:
        """End the session of a broker that is fenced or shut down."""
        self._heartbeats.pop(broker_id, None)

    @waits_for_work("the session of a broker to end")
    async def run(self) -> NoReturn:
        """Fence silent brokers until cancelled. Raises KafkaError(NOT_CONTROLLER)."""
        while True:
            with trio.move_on_at(next(iter(self._heartbeats.values()), inf) + self._timeout_s):
                await self._touched.wait()
                self._touched = trio.Event()
            for broker_id in [node for node in self._heartbeats if not self.alive(node)]:
                await self._writer.write(partial(self._fence, broker_id))

    def _fence(self, broker_id: NodeId) -> Decision[None]:
        if self.alive(broker_id):
            return Decision(None)  # a heartbeat arrived during other decisions
        self.forget(broker_id)
        present = self._writer.present
        broker = present.brokers.get(broker_id)
        if broker is None or broker.fenced:
            return Decision(None)
        return Decision(None, brokers.fence(present, broker, self._settings))
