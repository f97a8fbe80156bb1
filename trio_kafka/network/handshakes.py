"""TLS handshakes of a listener, between its acceptor and its processors.

Theory of operation. Each handshake is a task with a deadline, as its peer decides how long it
takes; then the connection goes to a processor, which never waits for a peer. A step of a handshake
may cost a millisecond of signatures. So all handshakes of a plane take turns, one step in a pass of
the loop, and connected clients are served between two steps. The number of handshakes is bounded:
when too many are under way, the oldest one ends. A client that means it needs a few milliseconds,
so the oldest one is that of a peer that is silent. A handshake counts as a connection. When there
are too many of these, it is evicted like one.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.metrics import Counters
from trio_kafka.introspect.tree import Figures
from trio_kafka.network.admission.slot import Slot
from trio_kafka.network.listener_tls import ListenerTls
from trio_kafka.network.reasons import CloseReason
from trio_kafka.security.tls.errors import TlsEndedError, TlsError
from trio_kafka.security.tls.handshake import HANDSHAKE_S, shake_hands
from trio_kafka.security.tls.principal_rules import NoMatchingRuleError
from trio_kafka.security.tls.socket import TlsSocket, new_arrival_buffer

_logger: Final = get_logger(__name__)
MOST: Final = 512
"""Handshakes of a listener at a time."""
_FAREWELL_S: Final = 0.1  # connection.failed.authentication.delay.ms
_LOG_S: Final = 1.0  # between two log lines: a storm is logged as a number


@define(eq=False, kw_only=True)
class _Handshake:
    """One handshake. Implements `SlotConnection`.

    progress: `trio.current_time()` of the last step, which a packet of the peer begins.
    """

    slot: Slot
    scope: trio.CancelScope = field(factory=trio.CancelScope)
    progress: float = field(factory=trio.current_time)
    evicted: CloseReason | None = None
    ending: None = None

    def step(self) -> None:
        self.progress = trio.current_time()

    def close(self, reason: CloseReason) -> None:
        """End it now; its task notes that later."""
        self.evicted = reason
        self.scope.cancel()
        self.slot.close()


@define(eq=False, kw_only=True)
class Handshakes:
    """Handshakes of one listener.

    turn: held for each step; all listeners of a plane share it. deal: gives a slot to a processor.
    done, failed, evicted: handshakes so far.
    """

    listener: str
    _tls: ListenerTls
    _turn: trio.Lock
    _counters: Counters
    _deal: Callable[[Slot], Awaitable[None]]
    _nursery: trio.Nursery
    done: int = field(default=0, init=False)
    failed: int = field(default=0, init=False)
    evicted: int = field(default=0, init=False)
    _dropped: memoryview = field(factory=new_arrival_buffer, init=False)
    _running: dict[_Handshake, None] = field(factory=dict, init=False)
    _logged: float = field(default=-_LOG_S, init=False)
    _unlogged: int = field(default=0, init=False)

    def begin(self, slot: Slot) -> None:
        """Begin a handshake; the slot is closed if that fails."""
        handshake = slot.connection = _Handshake(slot=slot)
        if len(self._running) >= MOST:
            oldest = next(iter(self._running))
            del self._running[oldest]
            oldest.scope.cancel()
        self._running[handshake] = None
        self._nursery.start_soon(self._run, handshake, name=f"handshake {slot.socket.peer}")

    async def _run(self, handshake: _Handshake) -> None:
        slot, scope = handshake.slot, handshake.scope
        try:
            scope.deadline = trio.current_time() + HANDSHAKE_S
            with scope:
                await self._shake(handshake)
            if scope.cancelled_caught:
                self._end_early(handshake)
                return
        except (TlsError, NoMatchingRuleError, ValueError) as error:
            # As in Kafka, a client that leaves has not failed to authenticate.
            has_ended = isinstance(error, TlsEndedError)
            self._fail(slot, str(error), "ended" if has_ended else "failed")
            slot.connection = None  # it ends soon, and `_end` waits for its socket
            await self._end(slot)
            return
        except OSError:  # the client has left, or eviction has closed the socket
            self._end_early(handshake)
            return
        except Exception:
            _logger.exception("TLS handshake broke", listener=self.listener)
            slot.close()
            return
        except BaseException:
            slot.close()
            raise
        finally:
            self._running.pop(handshake, None)
            slot.connection = None
        self.done += 1
        self._count("successful")
        await self._deal(slot)

    async def _shake(self, handshake: _Handshake) -> None:
        slot = handshake.slot
        secured = self._tls.wrap(slot.socket)
        slot.socket = secured
        await shake_hands(secured, self._turn, handshake.step)
        slot.principal = self._tls.principal_of(secured)

    def _end_early(self, handshake: _Handshake) -> None:
        """Close the socket of a handshake that neither succeeded nor failed by its bytes."""
        if handshake.evicted is not None:
            self.evicted += 1
            reason = handshake.evicted
            self._counters.add("connections_closed", listener=self.listener, reason=reason)
        elif handshake.scope.cancelled_caught:
            self._fail(handshake.slot, "the handshake was not finished in time")
        handshake.slot.close()

    async def _end(self, slot: Slot) -> None:
        """Close after the alert, which a reset would discard: unread bytes make a close a reset."""
        socket = slot.socket.beneath
        try:
            with trio.move_on_after(_FAREWELL_S), suppress(OSError):
                socket.shutdown_write()
                while True:
                    try:
                        if not socket.receive_into(self._dropped):
                            break
                    except BlockingIOError:
                        await socket.wait_readable()
                    else:
                        await trio.lowlevel.checkpoint()
        finally:
            slot.close()

    def _fail(self, slot: Slot, reason: str, result: str = "failed") -> None:
        """Count and log a failure. result: label of the counter."""
        peer = slot.socket.peer
        was_silent = isinstance(slot.socket, TlsSocket) and slot.socket.is_silent
        self.failed += 1
        self._count(result)
        if was_silent:  # a check that a port is open
            _logger.debug("connection closed before TLS", peer=str(peer), listener=self.listener)
            return
        now = trio.current_time()
        if now - self._logged < _LOG_S:
            self._unlogged += 1
            return
        _logger.warning(
            "TLS handshake failed",
            peer=str(peer),
            listener=self.listener,
            reason=reason,
            others=self._unlogged,
        )
        self._logged, self._unlogged = now, 0

    def _count(self, result: str) -> None:
        self._counters.add("tls_handshakes", listener=self.listener, result=result)

    def figures(self) -> Figures:
        return {
            "running": len(self._running),
            "done": self.done,
            "failed": self.failed,
            "evicted": self.evicted,
        }
