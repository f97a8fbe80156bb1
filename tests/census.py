"""A census after each test: what it took and did not give back fails it.

Counted are the ledgers (`trio_kafka.held`) that were made while the test and its fixtures ran:
descriptors and leases of files, handler tokens and limits, room in channels, request memory,
timers, parked operations. Those of fixtures that several tests share are left out, and so are files
and listeners of a simulated machine, which ends with its test. A broker has closed its own at its
end, in every world. Tests whose subject is what is held have the mark `leaves`.

TRIO_KAFKA_CENSUS=trace also says where each open thing was made; tests take several times as long.
"""

import gc
import os
import tracemalloc
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from trio_kafka import held
from trio_kafka.purgatory import Delayed, Timer
from trio_kafka.world.descriptors import Descriptors
from trio_kafka.world.protocols import CLOSED
from trio_kafka.world.real.file import RealFile, RealLease
from trio_kafka.world.real.network import RealListener
from trio_kafka.world.real.socket import RealSocket
from trio_kafka.world.simulated.file import SimulatedFile, SimulatedLease
from trio_kafka.world.simulated.network import MemoryListener
from trio_kafka.world.simulated.socket import MemorySocket

TRACES: Final = os.environ.get("TRIO_KAFKA_CENSUS") == "trace"
TESTS: Final = Path(__file__).parent
SHOWN: Final = 5
FRAMES: Final = 12
# Things that are held, and whether one of them is open.
OPEN: Final[dict[type[Any], Callable[[Any], bool]]] = {
    RealFile: lambda file: file._fd != -1 or file.leased,
    SimulatedFile: lambda file: not file._closed,
    RealLease: lambda lease: lease.key != CLOSED,
    SimulatedLease: lambda lease: lease.key != CLOSED,
    RealSocket: lambda socket: socket.key != CLOSED,
    MemorySocket: lambda socket: not socket.closed,
    RealListener: lambda listener: listener.key != CLOSED,
    MemoryListener: lambda listener: listener.key != CLOSED,
    Delayed: lambda delayed: delayed.lane is not None,
    Timer: lambda timer: timer.call is not None,
}


class HeldError(AssertionError):
    """A test left something open; the message says what."""


class Census:
    """Census of one test. ledgers: that were made while it ran. losses: of brokers that ended."""

    def __init__(self) -> None:
        self.ledgers: list[held.Ledger] = []
        self.losses: Counter[str] = Counter()

    def opened(self, ledger: held.Ledger) -> None:
        """See `held.Observer`."""
        self.ledgers.append(ledger)

    def leaked(self, owner: str, counts: Mapping[str, int]) -> None:
        """See `held.Observer`."""
        for kind, count in counts.items():
            self.losses[f"{kind} of {owner}"] += count

    def still_held(self) -> Counter[str]:
        """Return what is held by all ledgers, and what brokers have left, by kind.

        After a crash only descriptors count: what was registered in that life is never called.
        """
        result = Counter(self.losses)
        counted: list[held.Ledger] = self.ledgers
        descriptors = [
            candidate for candidate in self.ledgers if isinstance(candidate, Descriptors)
        ]
        if any(descriptor.ended for descriptor in descriptors):
            counted = list(descriptors)
        for ledger in counted:
            for kind, count in ledger.still_held().items():
                if count:
                    result[kind] += count
        return result

    def check(self) -> None:
        """Raise HeldError if something is held."""
        result = self.still_held()
        if result:
            raise HeldError(message_of(result))


def message_of(counts: Counter[str]) -> str:
    """Return the text of an error, with the things that are open if they are traced."""
    lines = [f"{kind}: {count}" for kind, count in sorted(counts.items())]
    if TRACES:
        lines += open_things()
    else:
        lines.append("TRIO_KAFKA_CENSUS=trace says where they were taken")
    return "the test left open:\n" + "\n".join(f"- {line}" for line in lines)


def open_things() -> Iterator[str]:
    """Yield some of the things that are open, with the place where each was made."""
    shown: Counter[type[Any]] = Counter()
    for thing in gc.get_objects():
        is_open = OPEN.get(type(thing))
        if is_open is not None and is_open(thing) and shown[type(thing)] < SHOWN:
            shown[type(thing)] += 1
            place = tracemalloc.get_object_traceback(thing)
            frames = () if place is None else place.format(most_recent_first=True)
            yield "\n".join((f"{type(thing).__name__}", *frames))


FAILED: Final = pytest.StashKey[bool]()
CENSUS: Final = pytest.StashKey[Census]()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Observe the ledgers that are made for one test, its fixtures included."""
    census = item.stash[CENSUS] = Census()
    try:
        with held.observed(census):
            return (yield)
    finally:
        del item.stash[CENSUS]  # items live as long as the run, and would keep all ledgers


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any],
) -> Generator[None, object, object]:
    """Leave out what belongs to several tests."""
    if fixturedef.scope == "function":
        return (yield)
    with held.observed(None):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Note that a test has failed: what it left open has that reason."""
    item.stash[FAILED] = True
    yield
    item.stash[FAILED] = False


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """Take the census when all fixtures of the test are torn down."""
    yield
    if is_counted(item) and not item.stash.get(FAILED, True):
        item.stash[CENSUS].check()


def is_counted(item: pytest.Item) -> bool:
    """Return whether the census may fail a test."""
    return str(item.path).startswith(f"{TESTS}/") and item.get_closest_marker("leaves") is None


def pytest_configure() -> None:
    if TRACES:
        tracemalloc.start(FRAMES)
