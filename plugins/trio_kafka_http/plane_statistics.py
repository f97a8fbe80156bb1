"""Requests in flight and statistics of the plane: figures, counters, nodes of the tree."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import trio
from attrs import define, field

from trio_kafka.introspect.metrics import Counter
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka_http.request_cycle import Message, RequestCycle

_SHOWN: Final = 80  # most characters of a path


@define(eq=False)
class PlaneStatistics:
    """Statistics. counter: creates one by name and labels, which are statuses and mounts."""

    _counter: Callable[..., Counter]
    in_flight: int = field(default=0, init=False)
    requests: int = field(default=0, init=False)
    _statuses: dict[int | None, int] = field(factory=dict, init=False)

    @contextmanager
    def request(self, scope: Message, cycle: RequestCycle, node: Node) -> Iterator[None]:
        """Show a request below its connection's node while the block runs."""
        began = trio.current_time()

        def figures() -> Figures:
            return {
                "request": cycle.request_id,
                "mount": cycle.mount,
                "status": cycle.status,
                "age_s": trio.current_time() - began,
            }

        self.in_flight += 1
        self.requests += 1
        try:
            with node.child(_name_of(scope), "task", figures):
                yield
        finally:
            self.in_flight -= 1
            self._count(cycle)

    def _count(self, cycle: RequestCycle) -> None:
        status = cycle.status
        self._statuses[status] = self._statuses.get(status, 0) + 1
        # No response was begun: the client left, or the plane stopped.
        shown = "none" if status is None else str(status)
        self._counter("http_requests", mount=cycle.mount or "-", status=shown).value += 1

    def figures(self) -> Figures:
        """Return figures for the tree."""
        figures: dict[str, int] = {"in_flight": self.in_flight, "requests": self.requests}
        for status, count in sorted(self._statuses.items(), key=lambda entry: entry[0] or 0):
            figures["unanswered" if status is None else f"status_{status}"] = count
        return figures


def _name_of(scope: Message) -> str:
    """Return method and path, without the query, which may hold secrets."""
    path = "".join(
        character if character.isprintable() else "?" for character in scope["path"][:_SHOWN]
    )
    return f"{scope['method'][:_SHOWN]} {path}"
