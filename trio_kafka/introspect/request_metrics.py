"""Request metrics: sums of the hops of all requests, by API."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.introspect.recent_requests import OFTEN, RecentRequests
from trio_kafka.introspect.stamps import Stamps
from trio_kafka.introspect.tree import Figures, Node

HOPS: Final = ("queue", "local", "remote", "throttle", "response_queue", "send", "total")
RECENT: Final = 16  # default number of requests of each API that are kept
TOGETHER: Final = 32  # requests of an API that are added in one batch, at most


@define(eq=False)
class ApiMetrics:
    """Count, sums and longest times of the hops of one API, and some of its recent requests.

    Requests are added in batches: call `settle` before reading.
    """

    recent: RecentRequests = field(factory=lambda: RecentRequests(RECENT))
    count: int = 0
    sums: dict[str, float] = field(factory=lambda: dict.fromkeys(HOPS, 0.0), init=False)
    longest: dict[str, float] = field(factory=lambda: dict.fromkeys(HOPS, 0.0), init=False)
    _pending: list[Stamps] = field(factory=list, init=False)

    def add(self, stamps: Stamps, sent: float) -> None:
        """Add a request whose answer was sent."""
        stamps.sent = sent
        over = self._pending
        over.append(stamps)
        if len(over) >= TOGETHER:
            self.settle()

    def settle(self) -> None:
        """Add the pending requests to the sums and to the recent ones."""
        over = self._pending
        if not over:
            return
        self._add_up("queue", [stamps.begun - stamps.received for stamps in over])
        self._add_up("local", [stamps.handled - stamps.begun for stamps in over])
        self._add_up("remote", [stamps.answered - stamps.handled for stamps in over])
        self._add_up("throttle", [stamps.throttled_s for stamps in over])
        self._add_up("response_queue", [stamps.sending - stamps.answered for stamps in over])
        self._add_up("send", [stamps.sent - stamps.sending for stamps in over])
        totals = [stamps.sent - stamps.received for stamps in over]
        self._add_up("total", totals)
        recent, before = self.recent, self.count
        for stamps, total in zip(over, totals, strict=True):
            if total > recent.slow_above:
                recent.note_slow(stamps, total)
        recent.latest.extend(over)
        self.count += len(over)
        if self.count // OFTEN > before // OFTEN:
            recent.forget(over[-1].sent)
        over.clear()

    def _add_up(self, hop: str, seconds: list[float]) -> None:
        self.sums[hop] += sum(seconds)
        self.longest[hop] = max(self.longest[hop], *seconds)

    def figures(self) -> Figures:
        """Sums and maxima in milliseconds, and the count."""
        self.settle()
        figures: dict[str, int | float] = {"count": self.count}
        for hop in HOPS:
            figures[f"{hop}_ms"] = self.sums[hop] * 1e3
            figures[f"{hop}_max_ms"] = self.longest[hop] * 1e3
        return figures


@define(eq=False)
class RequestMetrics:
    """Metrics of the requests of a plane, by API.

    names: of the served APIs. recent: how many requests of each API are kept. elapsed: clock of the
    stamps. known: metrics by key of the API; call `settle` before reading one.
    log: called with each request that is over; see `follow`.
    """

    _node: Node
    _names: Callable[[], Mapping[int, str]] = field(default=dict)
    _recent: int = RECENT
    elapsed: Callable[[], float] = field(kw_only=True)
    log: Callable[[Stamps], None] | None = field(default=None, init=False)
    _followers: tuple[Callable[[Stamps], None], ...] = field(default=(), init=False)
    by_key: dict[int, ApiMetrics] = field(factory=dict, init=False)
    _named: dict[int, str] = field(factory=dict, init=False)

    def of(self, key: int) -> ApiMetrics:
        """Return the settled metrics of an API. Each key is kept for good: pass known keys only."""
        metrics = self.by_key.get(key)
        if metrics is None:
            metrics = self.by_key[key] = ApiMetrics(RecentRequests(self._recent))
            self._node.add(self.name_of(key), "part", metrics.figures)
        metrics.settle()
        return metrics

    def follow(self, call: Callable[[Stamps], None]) -> None:
        """Call `call`, which must not raise, with each request that is over. Idempotent."""
        if call not in self._followers:
            self._tell((*self._followers, call))

    def unfollow(self, call: Callable[[Stamps], None]) -> None:
        """Undo `follow`. Idempotent."""
        self._tell(tuple(follower for follower in self._followers if follower != call))

    def _tell(self, followers: tuple[Callable[[Stamps], None], ...]) -> None:
        def tell_all(stamps: Stamps) -> None:
            for follower in followers:
                follower(stamps)

        self._followers = followers
        self.log = tell_all if len(followers) > 1 else followers[0] if followers else None

    def name_of(self, key: int) -> str:
        """Return the name of an API, or that when it was last served."""
        name = self._named.get(key) or self._names().get(key)
        if name is None:
            return f"api-{key}"
        self._named[key] = name
        return name

    def settled(self) -> Iterator[tuple[int, ApiMetrics]]:
        """Yield the settled metrics of each API with its key."""
        for key, metrics in tuple(self.by_key.items()):
            metrics.settle()
            yield key, metrics

    def latest(self) -> Iterator[Stamps]:
        """Yield the latest requests of each API, the newest first."""
        for _, metrics in self.settled():
            yield from reversed(tuple(metrics.recent.latest))

    def slowest(self) -> Iterator[Stamps]:
        """Yield the slowest requests of each API of the last hour."""
        for _, metrics in self.settled():
            metrics.recent.forget(self.elapsed())
            yield from metrics.recent.slowest()
