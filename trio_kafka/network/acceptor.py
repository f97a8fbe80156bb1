"""The acceptor of a listener: deals new connections to its processors, round robin.

Connection limits are checked first: they may delay or refuse a connection. A processor whose
channel of new connections is full is skipped. When all are full the acceptor waits, so backpressure
reaches the kernel's queue; the blocked time is counted. Source: Kafka's Acceptor.
"""

import errno
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NoReturn

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Figures
from trio_kafka.network.admission.listener_admission import ListenerAdmission
from trio_kafka.network.admission.slot import Slot
from trio_kafka.network.processor import Processor
from trio_kafka.scheduling.loop_budget import LoopBudget
from trio_kafka.world.protocols import Listener, Socket

logger = get_logger(__name__)

EXHAUSTED_S: Final = 0.1  # pause when no descriptor is left
_EXHAUSTED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


@define(eq=False)
class Acceptor:
    """Acceptor of one listening socket.

    aborted: connections that ended before they were accepted. exhausted: no descriptor was left.
    blocked: waits for limits or for a processor.
    begin: begins a handshake, after which `deal` is called; None: without TLS.
    """

    _listener: Listener
    _processors: Sequence[Processor]
    _budget: LoopBudget
    _admission: ListenerAdmission
    begin: Callable[[Slot], None] | None = None
    accepted: int = field(default=0, init=False)
    aborted: int = field(default=0, init=False)
    exhausted: int = field(default=0, init=False)
    blocked: int = field(default=0, init=False)
    _next: int = field(default=0, init=False)

    async def run(self) -> NoReturn:
        """Accept until cancelled; other tasks run when its share of the loop budget is used up."""
        while True:
            socket = await self._accept()
            ends = self._budget.begin_share()
            while socket is not None:
                self.accepted += 1
                slot = await self._admit(socket)
                if slot is None:
                    pass
                elif self.begin is None:
                    await self.deal(slot)
                else:
                    self.begin(slot)
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
            return None  # the next wait fails in the same way, and pauses

    def _note(self, error: OSError) -> None:
        if error.errno in _EXHAUSTED:
            if not self.exhausted:
                logger.error("new connections delayed: no file descriptor left", error=error)
            self.exhausted += 1
        elif isinstance(error, ConnectionError):
            self.aborted += 1
        else:
            raise error

    async def _admit(self, socket: Socket) -> Slot | None:
        """Return the slot of a socket; None: the connection was refused."""
        admission = self._admission
        slot = admission.arrive(socket)
        if not slot.entered:
            with self._blocked(slot):
                await admission.enter(slot)
        return slot if admission.admit(slot) else None

    async def deal(self, slot: Slot) -> None:
        """Give a connection to the next processor that has room."""
        processors = self._processors
        self._next %= len(processors)  # there may be fewer than before
        for _ in processors:
            processor = processors[self._next]
            self._next = (self._next + 1) % len(processors)
            try:
                processor.new_connections.give_nowait(slot)
            except trio.WouldBlock:
                continue
            return
        with self._blocked(slot):
            await processors[self._next].new_connections.give(slot)

    @contextmanager
    def _blocked(self, slot: Slot) -> Iterator[None]:
        """Count the block as blocked time; close the slot if the block fails or is cancelled."""
        self.blocked += 1
        began = trio.current_time()
        try:
            yield
        except BaseException:
            slot.close()
            raise
        finally:
            now = trio.current_time()
            self._admission.blocked.mark(now - began, now)

    def figures(self) -> Figures:
        return {
            "accepted": self.accepted,
            "aborted": self.aborted,
            "exhausted": self.exhausted,
            "blocked": self.blocked,
            "blocked_s": self._admission.blocked.count,
        }
