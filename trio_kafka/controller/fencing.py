"""Fencing of silent brokers: their sessions, and the task that ends them."""

from functools import partial
from typing import NoReturn

import trio

from trio_kafka.controller import brokers
from trio_kafka.controller.decision import ControllerSettings, Decision
from trio_kafka.controller.sessions import Sessions
from trio_kafka.controller.writer import Writer
from trio_kafka.model import NodeId


class Fencing:
    """Sessions of an active controller. `run` must run while it is active.

    me: the broker in this process. It has no session, as it is alive while this code runs.
    """

    def __init__(self, writer: Writer, settings: ControllerSettings, me: NodeId) -> None:
        self._writer = writer
        self._settings = settings
        self._me = me
        self._sessions = Sessions(settings.broker_session_timeout_ms / 1000)
        self._touched = trio.Event()

    def alive(self, broker_id: NodeId) -> bool:
        """Return whether a broker has sent a heartbeat lately."""
        return self._sessions.alive(broker_id, trio.current_time())

    def touch(self, broker_id: NodeId) -> None:
        """Note a heartbeat of a broker."""
        if broker_id != self._me:
            self._sessions.touch(broker_id, trio.current_time())
            self._touched.set()

    def forget(self, broker_id: NodeId) -> None:
        """End the session of a broker that is fenced or unregistered."""
        self._sessions.forget(broker_id)

    async def run(self) -> NoReturn:
        """Fence silent brokers until cancelled. Raises KafkaError(NOT_CONTROLLER)."""
        while True:
            await self._wait_silent()
            for broker_id in list(self._sessions.silent(trio.current_time())):
                await self._writer.write(partial(self._fence, broker_id))

    async def _wait_silent(self) -> None:
        """Wait until the next session ends, or a heartbeat arrives."""
        with trio.move_on_at(self._sessions.deadline):
            await self._touched.wait()
            self._touched = trio.Event()

    def _fence(self, broker_id: NodeId) -> Decision[None]:
        if self.alive(broker_id):
            return Decision(None)  # a heartbeat arrived during other decisions
        self._sessions.forget(broker_id)
        present = self._writer.present
        broker = present.brokers.get(broker_id)
        if broker is None or broker.fenced:
            return Decision(None)
        return Decision(None, brokers.fence(present, broker, self._settings))
