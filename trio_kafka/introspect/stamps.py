"""The times of one request's hops, what else is known of it, and sums per API.

A request passes queue (until a handler has it), local (the handler's own work), remote (parked, for
others), response queue (until its processor has the answer) and send (until the socket has taken it
all). Throttling is not a hop of the answer but a pause after it. All readings come from
`Clock.elapsed`. Source: Kafka's request metrics.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.introspect.recent_requests import OFTEN, Lives
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.model import Endpoint, key_of, version_of

HOPS: Final = ("queue", "local", "remote", "throttle", "response_queue", "send", "total")


LIVES: Final = 16  # requests of each API that are kept, where nothing else is said
TOGETHER: Final = 32  # requests of an API that are counted at a time, at most


@define(eq=False)
class Origin:
    """Where requests come from: what is told of a connection, without the connection.

    number: of the connection, on its processor. software: name and version of the client (KIP-511).
    unlogged: it reads the request log itself.
    """

    peer: Endpoint
    local: Endpoint
    listener: str
    protocol: str
    number: int
    software: tuple[str, str] | None = None
    unlogged: bool = False


NOWHERE: Final = Origin(Endpoint("", 0), Endpoint("", 0), "", "", 0)


@define(eq=False)
class Stamps:
    """Readings of one request, 0.0 is "not yet"; and what is known of it when it is over."""

    received: float  # its last byte is here
    begun: float  # a handler has it
    code: int = 0  # as in `model.code_of`
    correlation: int = 0
    request_bytes: int = 0  # of the frame, without its length
    origin: Origin = NOWHERE
    handled: float = 0.0  # the handler's own work is done: answered, or parked
    answered: float = 0.0
    sending: float = 0.0  # its processor has the answer
    sent: float = 0.0  # the socket has taken it all
    throttled_s: float = 0.0
    plugin_s: float = 0.0  # of the handler's time: that of interceptors
    error: int = 0  # of a request that failed as a whole; 0: none
    response_bytes: int = 0  # with the length; 0: there was no answer
    client_id: str = ""
    errors: Mapping[int, int] = field(init=False)  # of all parts of the answer, where it is wanted
    body: Any = field(init=False)  # what is asked, for the request log; else there is none

    @property
    def key(self) -> int:
        """Of the API."""
        return key_of(self.code)

    @property
    def version(self) -> int:
        """Of the API, as it was asked for: ApiVersions answers whatever version is asked."""
        return version_of(self.code)


@define(eq=False)
class Sums:
    """Count, sums and maxima of the hops of one API, in seconds; and some lives of its requests.

    Whoever reads them calls `settle` before: requests are counted some at a time, which costs less
    than to count each when it is over.
    """

    lives: Lives = field(factory=lambda: Lives(LIVES))
    count: int = 0
    queue: float = 0.0
    queue_max: float = 0.0
    local: float = 0.0
    local_max: float = 0.0
    remote: float = 0.0
    remote_max: float = 0.0
    throttle: float = 0.0
    throttle_max: float = 0.0
    response_queue: float = 0.0
    response_queue_max: float = 0.0
    send: float = 0.0
    send_max: float = 0.0
    total: float = 0.0
    total_max: float = 0.0
    _over: list[Stamps] = field(factory=list, init=False)  # not counted yet

    def add(self, stamps: Stamps, sent: float) -> None:
        """One request whose answer is gone."""
        stamps.sent = sent
        over = self._over
        over.append(stamps)
        if len(over) >= TOGETHER:
            self.settle()

    def settle(self) -> None:
        """Count the requests that are over, and keep them for a while."""
        over = self._over
        if not over:
            return
        self._add_up("queue", [one.begun - one.received for one in over])
        self._add_up("local", [one.handled - one.begun for one in over])
        self._add_up("remote", [one.answered - one.handled for one in over])
        self._add_up("throttle", [one.throttled_s for one in over])
        self._add_up("response_queue", [one.sending - one.answered for one in over])
        self._add_up("send", [one.sent - one.sending for one in over])
        totals = [one.sent - one.received for one in over]
        self._add_up("total", totals)
        lives, before = self.lives, self.count
        for stamps, total in zip(over, totals, strict=True):
            if total > lives.slow_above:
                lives.note_slow(stamps, total)
        lives.latest.extend(over)
        self.count += len(over)
        if self.count // OFTEN > before // OFTEN:
            lives.forget(over[-1].sent)
        over.clear()

    def _add_up(self, hop: str, seconds: list[float]) -> None:
        longest = f"{hop}_max"
        setattr(self, hop, getattr(self, hop) + sum(seconds))
        setattr(self, longest, max(getattr(self, longest), *seconds))

    def figures(self) -> Figures:
        """Sums and maxima in milliseconds, and the count."""
        self.settle()
        figures: dict[str, int | float] = {"count": self.count}
        for hop in HOPS:
            figures[f"{hop}_ms"] = getattr(self, hop) * 1e3
            figures[f"{hop}_max_ms"] = getattr(self, f"{hop}_max") * 1e3
        return figures


@define(eq=False)
class Times:
    """The sums of every API that was asked for, under one node.

    names: of the APIs that are served now. lives: how many requests of each are kept. elapsed: the
    clock of the stamps.
    """

    _node: Node
    _names: Callable[[], Mapping[int, str]] = field(default=dict)
    _lives: int = LIVES
    elapsed: Callable[[], float] = field(kw_only=True)
    log: Callable[[Stamps], None] | None = field(default=None, init=False)  # see `follow`
    _followers: tuple[Callable[[Stamps], None], ...] = field(default=(), init=False)
    known: dict[int, Sums] = field(factory=dict, init=False)  # by key of the API; not settled
    _named: dict[int, str] = field(factory=dict, init=False)

    def of(self, key: int) -> Sums:
        """The sums of one API key, settled; call it for known keys only, each is kept for good."""
        sums = self.known.get(key)
        if sums is None:
            sums = self.known[key] = Sums(Lives(self._lives))
            self._node.add(self.name_of(key), "part", sums.figures)
        sums.settle()
        return sums

    def follow(self, call: Callable[[Stamps], None]) -> None:
        """Call it with each request that is over, from now on; it never raises. While nobody
        follows, that costs a comparison. Idempotent.
        """
        if call not in self._followers:
            self._tell((*self._followers, call))

    def unfollow(self, call: Callable[[Stamps], None]) -> None:
        """Call it no more. Idempotent."""
        self._tell(tuple(one for one in self._followers if one != call))

    def _tell(self, followers: tuple[Callable[[Stamps], None], ...]) -> None:
        def tell_all(stamps: Stamps) -> None:
            for one in followers:
                one(stamps)

        self._followers = followers
        self.log = tell_all if len(followers) > 1 else followers[0] if followers else None

    def name_of(self, key: int) -> str:
        """What an API is called, or was when it was last served."""
        name = self._named.get(key) or self._names().get(key)
        if name is None:
            return f"api-{key}"
        self._named[key] = name
        return name

    def settled(self) -> Iterator[tuple[int, Sums]]:
        """The sums of each API by its key, with every request that is over."""
        for key, sums in tuple(self.known.items()):
            sums.settle()
            yield key, sums

    def latest(self) -> Iterator[Stamps]:
        """Of each API the latest requests, the newest first."""
        for _, sums in self.settled():
            yield from reversed(tuple(sums.lives.latest))

    def slowest(self) -> Iterator[Stamps]:
        """Of each API the slowest requests of the last hour."""
        for _, sums in self.settled():
            sums.lives.forget(self.elapsed())
            yield from sums.lives.slowest()
