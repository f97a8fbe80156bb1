"""The request channel of a plane, with its completion lane.

Requests wait in a bounded channel. Completions of parked requests wait in a deque beside it,
the completion lane, and go first. A task can wait for one thing only, so a completion that finds an
idle handler sends a wake-up through the channel. A handler becomes idle only if the lane is empty,
or if enough others are active; one that stops serving passes the lane on.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Mapping

from trio_kafka import held
from trio_kafka.attributes import define
from trio_kafka.introspect.channels import Channel
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.network.request import Request
from trio_kafka.purgatory import Delayed


@define(eq=False)
class RoomCall:
    """A place in the line for room in the request channel; its owner closes it.

    call: made once, when it is this owner's turn; must not raise.
    is_due: the call was made, and the owner has not used the room yet.
    """

    _channel: "RequestChannel"
    call: Callable[[], None]
    is_due: bool = False

    def close(self) -> None:
        """Leave the line; pass the room on if the call was made. Idempotent.

        An owner that has used the room closes as well: more room may be left for the next one.
        """
        self._channel.leave_line(self)


class RequestChannel:
    """Channel from processors to handlers.

    bound: of requests (`queued.max.requests`); completions are bounded by the parked requests.
    elapsed: clock of the requests' stamps.
    requests: the channel; None in it wakes an idle handler for the lane. completions: the lane.
    """

    def __init__(
        self, bound: int, node: Node, elapsed: Callable[[], float], name: str = "request-channel"
    ) -> None:
        node = node.add(name, "part", self._lane_figures)
        self.requests: Channel[Request | None] = Channel(bound, node, "requests", age_s=self._age_s)
        self._elapsed = elapsed
        self.completions: deque[Delayed[object]] = deque()
        self._completed = self._most_completions = 0
        self._line: OrderedDict[RoomCall, None] = OrderedDict()  # waits for room
        self._is_waking = False  # a wake-up is on its way
        held.opened(self)

    @property
    def idle(self) -> bool:
        """True if a handler is idle and nothing is queued.

        The caller may then serve a plain request in place of that handler.
        """
        requests = self.requests
        return requests.idle > 0 and not requests.queued and not self.completions

    def offer(self, request: Request) -> None:
        """Queue a request. Raises trio.WouldBlock when the channel is full."""
        self.requests.send_nowait(request)

    def call_when_room(self, call: Callable[[], None]) -> RoomCall:
        """Call once, when a request was taken; first come, first served.

        Returns the registration, which the caller closes when it has used the room, or stops.
        """
        registration = RoomCall(self, call)
        self._line[registration] = None
        return registration

    def leave_line(self, registration: RoomCall) -> None:
        """See `RoomCall.close`."""
        if registration.is_due:
            registration.is_due = False
            if self._line and self.requests.queued < self.requests.bound:
                self._call_first()
        else:
            self._line.pop(registration, None)

    @property
    def waiting(self) -> int:
        """Number of registrations that wait for room."""
        return len(self._line)

    def still_held(self) -> Mapping[str, int]:
        """See `held.Ledger`."""
        return {"waits for room in the request channel": len(self._line)}

    def _call_first(self) -> None:
        first, _ = self._line.popitem(last=False)
        first.is_due = True
        first.call()

    def complete(self, delayed: Delayed[object]) -> None:
        """Append to the completion lane; never waits, never full."""
        completions = self.completions
        completions.append(delayed)
        self._completed += 1
        if len(completions) > self._most_completions:  # noqa: PLR1730 - max() costs more
            self._most_completions = len(completions)
        self.pass_on()

    def take_nowait(self) -> Request | Delayed[object] | None:
        """Return the next item, completions first; None when nothing is queued."""
        if self.completions:
            return self.completions.popleft()
        return self._taken(self.requests.receive_nowait()) if self.requests.queued else None

    async def take(self) -> Request | None:
        """Wait for a request; None: the completion lane may have items.

        No checkpoint if a request is queued already.
        """
        return self._taken(await self.requests.receive())

    def _taken(self, request: Request | None) -> Request | None:
        if request is None:
            self._is_waking = False
        elif self._line:
            self._call_first()
        return request

    def pass_on(self) -> None:
        """Wake an idle handler for the lane, unless one wakes already."""
        if self.completions and self.requests.idle and not self._is_waking:
            self._is_waking = True
            self.requests.send_nowait(None)  # a receiver waits: this cannot fail

    def _age_s(self, request: Request | None) -> float | None:
        return None if request is None else self._elapsed() - request.stamps.received

    def _lane_figures(self) -> Figures:
        return {
            "completions": len(self.completions),
            "most_completions": self._most_completions,
            "completed": self._completed,
            "refused": len(self._line),
        }
