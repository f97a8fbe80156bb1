"""State that the parts of a load share, and how they run: each in a thread of its own."""

import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from attrs import define, field

from tests.benchmarks.brokers import Broker
from trio_kafka.testing.processes import Address


@define
class Load:
    """How much the parts did, what went wrong, when to stop. connections: for parts that have many;
    others take their measure from it. places: other listeners, by name. full: a topic that holds
    something and does not change.
    """

    broker: Broker
    connections: int = 500
    places: dict[str, Address] = field(factory=dict)
    full: str = ""
    done: Counter[str] = field(factory=Counter)
    errors: list[str] = field(factory=list)
    stop: threading.Event = field(factory=threading.Event)

    def paced(self, every_s: float) -> Iterator[int]:
        """0, 1, 2, ... on time, until stopped; what came too late is not made up for."""
        due = time.monotonic()
        for number in itertools.count():
            due = max(due + every_s, time.monotonic())
            if self.stop.wait(max(due - time.monotonic(), 0)):
                return
            yield number

    def check(self, name: str, error: int) -> None:
        """Count what was done. ValueError: it was answered with an error."""
        if error:
            raise ValueError(f"{name}: error {error}")
        self.done[name] += 1


Part = Callable[[Load, str], None]


@contextmanager
def running_load(load: Load, topic: str, parts: Sequence[Part]) -> Iterator[None]:
    """Every part in a thread of its own, until the block ends; what fails stops all."""

    def run(part: Part) -> None:
        try:
            part(load, topic)
        except Exception as error:
            load.errors.append(f"{part.__name__}: {type(error).__name__}: {error}")
            load.stop.set()

    threads = [threading.Thread(target=run, args=(part,), name=part.__name__) for part in parts]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        load.stop.set()
        for thread in threads:
            thread.join()
