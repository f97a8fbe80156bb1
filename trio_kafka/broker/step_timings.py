"""Timing of the steps of start and stop."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Figures, Node

_logger: Final = get_logger(__name__)


class StepTimings:
    """Durations in seconds by step name, in order; logged, and shown in the tree (ms)
    as `phase`.
    """

    def __init__(self, phase: str, elapsed: Callable[[], float], node: Node) -> None:
        self.durations: dict[str, float] = {}
        self._phase = phase
        self._elapsed = elapsed
        node.add(phase, "part", self._figures)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time one step, even if it fails."""
        began = self._elapsed()
        try:
            yield
        finally:
            took = self.durations[name] = self._elapsed() - began
            _logger.debug(
                "step finished", phase=self._phase, step=name, took_ms=round(took * 1000, 1)
            )

    @property
    def total_ms(self) -> int:
        """Total of all steps in ms, rounded."""
        return round(sum(self.durations.values()) * 1000)

    def _figures(self) -> Figures:
        return {name: round(took * 1000, 1) for name, took in self.durations.items()}
