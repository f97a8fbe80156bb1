"""Recordings: which task ran when, and the requests and syncs that ended, for some seconds.

A recording is an instrument of Trio with a hook before and after each step of a task, which costs
about 1 us a step while it runs and nothing before and after. As only one task runs at a time, the
steps of all tasks stand in one list, in the order of time, and a time finds its task by bisection.
A recording is bounded: when it is full, what comes later is counted and left out.
"""

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.introspect.facts.storage import SyncFacts
from trio_kafka.introspect.request_metrics import RequestMetrics
from trio_kafka.introspect.stamps import Stamps

MOST_STEPS: Final = 200_000  # 20 bytes each
MOST_REQUESTS: Final = 20_000
MOST_LANES: Final = 500
MOST_SYNCS: Final = 20_000
OTHERS: Final = "other tasks"


@define(eq=False)
class Recording(trio.abc.Instrument):
    """Tasks, requests and syncs that ran, on the clock of `elapsed`, in seconds.

    lanes: names of tasks, by their number; tasks of one name share a lane, as they never run at
    once. requests: those that ended, in that order, each with the name of its plane and API.
    syncs: those that ended, each with its end. omitted_steps, omitted_requests, omitted_syncs: for
    which there was no room.
    """

    _elapsed: Callable[[], float]
    _most_steps: int = MOST_STEPS
    _most_requests: int = MOST_REQUESTS
    began: float = field(init=False)
    ended: float = field(init=False)
    lanes: list[str] = field(factory=list, init=False)
    requests: list[tuple[str, str, Stamps]] = field(factory=list, init=False)
    syncs: list[tuple[SyncFacts, float]] = field(factory=list, init=False)
    omitted_steps: int = field(default=0, init=False)
    omitted_requests: int = field(default=0, init=False)
    omitted_syncs: int = field(default=0, init=False)
    _begins: "array[float]" = field(factory=lambda: array("d"), init=False)
    _ends: "array[float]" = field(factory=lambda: array("d"), init=False)
    _steps: "array[int]" = field(factory=lambda: array("I"), init=False)  # numbers of lanes
    _numbers: dict[str, int] = field(factory=dict, init=False)
    _step_began: float | None = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        self.began = self.ended = self._elapsed()

    @contextmanager
    def running(self, planes: Iterable[tuple[str, RequestMetrics]]) -> Iterator[None]:
        """Record while the block runs. planes: names, and the metrics of their requests."""
        with ExitStack() as stack:
            for name, metrics in planes:
                note = self._noting(name, metrics)
                metrics.follow(note)
                stack.callback(metrics.unfollow, note)
            self.began = self._elapsed()
            trio.lowlevel.add_instrument(self)
            stack.callback(self._stop)
            yield

    def note_sync(self, sync: SyncFacts) -> None:
        """Record a sync that has just ended; its `age_s` is how long it took."""
        if len(self.syncs) < MOST_SYNCS:
            self.syncs.append((sync, self._elapsed()))
        else:
            self.omitted_syncs += 1

    def _stop(self) -> None:
        trio.lowlevel.remove_instrument(self)
        self.ended = self._elapsed()

    def _noting(self, plane: str, metrics: RequestMetrics) -> Callable[[Stamps], None]:
        def note(stamps: Stamps) -> None:
            if len(self.requests) < self._most_requests:
                self.requests.append((plane, metrics.name_of(stamps.key), stamps))
            else:
                self.omitted_requests += 1

        return note

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """See `trio.abc.Instrument`."""
        del task
        self._step_began = self._elapsed()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """See `trio.abc.Instrument`."""
        if self._step_began is None:  # the step in which the recording began
            return
        if len(self._steps) >= self._most_steps:
            self.omitted_steps += 1
            return
        self._begins.append(self._step_began)
        self._ends.append(self._elapsed())
        self._steps.append(self._lane(task.name))

    def _lane(self, name: str) -> int:
        number = self._numbers.get(name)
        if number is None:
            if len(self.lanes) >= MOST_LANES:
                return self._lane(OTHERS) if OTHERS in self._numbers else self._add_lane(OTHERS)
            number = self._add_lane(name)
        return number

    def _add_lane(self, name: str) -> int:
        number = self._numbers[name] = len(self.lanes)
        self.lanes.append(name)
        return number

    def __len__(self) -> int:
        """Return the number of steps."""
        return len(self._steps)

    def steps(self) -> Iterator[tuple[int, float, float]]:
        """Yield the lane, the begin and the end of each step, in the order of time."""
        return zip(self._steps, self._begins, self._ends, strict=True)

    def lane_at(self, time: float) -> int | None:
        """Return the lane that ran at a time; None if none did, or none was recorded."""
        number = bisect_right(self._begins, time) - 1
        if number < 0 or self._ends[number] < time:
            return None
        return self._steps[number]
