"""Idle percentages of processors and handlers, as Kafka reports them, on one loop.

A processor is idle while its reader is parked in its selector (Kafka's io-wait-ratio). A loop that
is busy with other tasks leaves the reader parked, too. So the averages count only while the loop
itself waits: all of that time for the network, and for the handlers times the share of them that
are idle. 0 means that the loop has nothing left to give, as with a core for each thread.

No request costs anything: the waits of the loop are summed once a pass, and sampled every few
seconds. Source: SocketServer, KafkaRequestHandlerPool and Selector of Apache Kafka 4.4.0.
"""

from collections.abc import Callable, Sequence
from typing import Final

from trio_kafka.introspect.recent_share import RecentShare
from trio_kafka.introspect.tree import Figures
from trio_kafka.network.processor import Processor
from trio_kafka.scheduling.loop_budget import LoopBudget

EVERY_S: Final = 5.0


class IdleMetrics:
    """Idle percentages of one plane. handlers: their configured number."""

    def __init__(
        self,
        budget: LoopBudget,
        processors: Callable[[], Sequence[Processor]],
        handlers: Callable[[], int],
    ) -> None:
        self._budget = budget
        self._processors = processors
        self._handlers = handlers
        now = budget.elapsed()
        self._network_share = RecentShare(now, budget.idle_s)
        self._handler_share = RecentShare(now, budget.handlers_idle_s)
        self._size = handlers()
        budget.sample_every(EVERY_S, self.sample)

    def sample(self) -> None:
        """Update the averages."""
        budget = self._budget
        now = budget.elapsed()
        self._network_share.sample(now, budget.idle_s)
        if self._size != self._handlers():  # the sums so far are of another number
            self._size = self._handlers()
            total_s = budget.handlers_idle_s / self._size
            self._handler_share = RecentShare(now, total_s, self._handler_share.value)
        self._handler_share.sample(now, budget.handlers_idle_s / self._size)
        for processor in self._processors():
            processor.parked.lately()

    def network(self) -> float:
        """Return NetworkProcessorAvgIdlePercent, 0 to 1; 1 without a processor."""
        self.sample()
        return self._network_share.value

    def handlers(self) -> float:
        """Return RequestHandlerAvgIdlePercent, 0 to 1."""
        self.sample()
        return self._handler_share.value

    def figures(self) -> Figures:
        return {
            "NetworkProcessorAvgIdlePercent": self.network(),
            "RequestHandlerAvgIdlePercent": self._handler_share.value,
        }
