"""The acceptor of a listener: deals new connections to its processors, round robin.

Limits of connections come first: they may ask it to wait, with one connection in hand, or refuse
the connection. A processor whose new-connection channel is full is passed over. When all are full
the acceptor waits. Its blocked time is counted: backpressure reaches the kernel's queue.
Source: Kafka's Acceptor.
"""

import errno
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NoReturn

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Figures
from trio_kafka.network.admission.gate import Gate
from trio_kafka.network.admission.slot import Slot
from trio_kafka.network.processor import Processor
from trio_kafka.scheduling.loop_budget import LoopBudget
from trio_kafka.world.protocols import Listener, Socket

logger = get_logger(__name__)

EXHAUSTED_S: Final = 0.1  # pause when no descriptor is left
_EXHAUSTED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


@define(eq=False)
class Acceptor:
    """Accepts until cancelled; what it counts."""

    _listener: Listener
    _processors: Sequence[Processor]
    _budget: LoopBudget
    _gate: Gate
    accepted: int = field(default=0, init=False)
    aborted: int = field(default=0, init=False)
    exhausted: int = field(default=0, init=False)
    blocked: int = field(default=0, init=False)
    _next: int = field(default=0, init=False)

    async def run(self) -> NoReturn:
        """Accept one connection after the other; at most for its part of a turn before others
        run.
        """
        while True:
            socket = await self._accept()
            ends = self._budget.begin_share()
            while socket is not None:
                self.accepted += 1
                slot = await self._admit(socket)
                if slot is not None:
                    await self._deal(slot)
                if self._budget.elapsed() >= ends:
                    break
                socket = self._accept_nowait()

    async def _accept(self) -> Socket | None:
        try:
            return await self._listener.accept()
        except OSError as error:
            self._note(error)
            await trio.sleep(EXHAUSTED_S if error.errno in _EXHAUSTED else 0)
            return None

    def _accept_nowait(self) -> Socket | None:
        try:
            return self._listener.accept_nowait()
        except BlockingIOError:
            return None
        except OSError as error:
            self._note(error)
            return None  # the next wait meets it again, and pauses

    def _note(self, error: OSError) -> None:
        if error.errno in _EXHAUSTED:
            if not self.exhausted:
                logger.error("no descriptor left for new connections", error=error)
            self.exhausted += 1
        elif isinstance(error, ConnectionError):
            self.aborted += 1  # it left before it was accepted
        else:
            raise error

    async def _admit(self, socket: Socket) -> Slot | None:
        """Its place among the connections; None: it was refused."""
        gate = self._gate
        slot = gate.arrive(socket)
        if not slot.entered:
            with self._blocked(slot):
                await gate.enter(slot)
        return slot if gate.admit(slot) else None

    async def _deal(self, slot: Slot) -> None:
        """To the next processor that has room."""
        processors = self._processors
        self._next %= len(processors)  # there may be fewer than at the last one
        for _ in processors:
            processor = processors[self._next]
            self._next = (self._next + 1) % len(processors)
            try:
                processor.arrivals.give_nowait(slot)
            except trio.WouldBlock:
                continue
            return
        with self._blocked(slot):
            await processors[self._next].arrivals.give(slot)

    @contextmanager
    def _blocked(self, slot: Slot) -> Iterator[None]:
        """Nothing is accepted in this block; a slot that does not come through it is closed."""
        self.blocked += 1
        began = trio.current_time()
        try:
            yield
        except BaseException:
            slot.close()
            raise
        finally:
            now = trio.current_time()
            self._gate.blocked.mark(now - began, now)

    def figures(self) -> Figures:
        return {
            "accepted": self.accepted,
            "aborted": self.aborted,
            "exhausted": self.exhausted,
            "blocked": self.blocked,
            "blocked_s": self._gate.blocked.count,
        }
