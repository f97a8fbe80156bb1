"""The latest requests of a test's own clients, for the report of a failed test.

The broker keeps some requests of each API (`introspect.request_metrics`). There the kit's own
polling soon replaces those of the test.
"""

from collections import deque
from collections.abc import Iterator
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.controls.running import KIT_CLIENT, HasParts
from trio_kafka.errors import ErrorCode
from trio_kafka.introspect.request_metrics import RequestMetrics
from trio_kafka.introspect.stamps import Stamps

MOST: Final = 12


@define(eq=False)
class LatestRequests:
    """Answered requests, without those of the kit; the latest `MOST`, in the lives of a broker."""

    _kept: deque[tuple[RequestMetrics, Stamps]] = field(
        factory=lambda: deque(maxlen=MOST), init=False
    )

    def attach(self, broker: HasParts) -> None:
        """Keep the requests of a broker from now on; it ends with its broker."""
        for plane in broker.parts.planes:
            self._follow(plane.request_metrics)

    def _follow(self, metrics: RequestMetrics) -> None:
        def keep(stamps: Stamps) -> None:
            if stamps.client_id != KIT_CLIENT:
                self._kept.append((metrics, stamps))

        metrics.follow(keep)

    def rows(self) -> Iterator[list[str]]:
        """Yield the cells of each request, the oldest first."""
        for metrics, stamps in self._kept:
            software = " ".join(stamps.origin.software or ())
            yield [
                f"{metrics.elapsed() - stamps.sent:.3f} s ago",
                f"{metrics.name_of(stamps.key)} v{stamps.version}",
                stamps.client_id or "-",
                software or "-",
                f"{1e3 * (stamps.sent - stamps.received):.1f} ms",
                ErrorCode(stamps.error).name if stamps.error else "-",
            ]
