"""How idle the processors and the handlers of a plane are, as Kafka tells it, on one loop.

A processor is idle while its reader is parked in its selector: Kafka's io-wait-ratio. A loop that
is busy with others leaves it parked as well, so the averages count only while the loop itself
waits: all of it for the network, and of the handlers those that wait for a request. So 0 means that
there is nothing left to give, as it does where each thread has a core.
Nothing is paid for it per request: the loop's waits are summed once a pass, and sampled every few
seconds at most.
Source: SocketServer, KafkaRequestHandlerPool and Selector of Apache Kafka 4.4.0.
"""

from collections.abc import Callable, Sequence
from typing import Final

from trio_kafka.introspect.share import Share
from trio_kafka.introspect.tree import Figures
from trio_kafka.network.processor import Processor
from trio_kafka.scheduling.loop_budget import LoopBudget

EVERY_S: Final = 5.0


class Idleness:
    """Of one plane. handlers: how many there are to be."""

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
        self._loop = Share(now, budget.idle_s)
        self._of_handlers = Share(now, budget.handlers_idle_s)
        self._size = handlers()
        budget.sample_every(EVERY_S, self.sample)

    def sample(self) -> None:
        """Take in what came since the last time."""
        budget = self._budget
        now = budget.elapsed()
        self._loop.sample(now, budget.idle_s)
        if self._size != self._handlers():  # sums of another number of handlers
            self._size = self._handlers()
            total_s = budget.handlers_idle_s / self._size
            self._of_handlers = Share(now, total_s, self._of_handlers.value)
        self._of_handlers.sample(now, budget.handlers_idle_s / self._size)
        for processor in self._processors():
            processor.parked.lately()

    def network(self) -> float:
        """NetworkProcessorAvgIdlePercent, 0 to 1; 1 where there is no processor."""
        self.sample()
        return self._loop.value

    def handlers(self) -> float:
        """RequestHandlerAvgIdlePercent, 0 to 1."""
        self.sample()
        return self._of_handlers.value

    def figures(self) -> Figures:
        return {
            "NetworkProcessorAvgIdlePercent": self.network(),
            "RequestHandlerAvgIdlePercent": self._of_handlers.value,
        }
