"""Searches for regular expressions, in a thread: RE2 matches without the interpreter's lock.

A search is a task; all of them take turns in one thread, a slice of 2 ms each, so that a slow
expression delays no other group by much. An expression that takes too long in all is rejected: the
search ends without its matches, and its members get INVALID_REGULAR_EXPRESSION for ten minutes.
Matches of the last expressions are kept, for all groups; the next search looks only at new topics.
A search whose group or shard is gone ends by itself: its result is ignored.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final, NoReturn, TypeAlias, TypeVar

import trio

from trio_kafka.coordinators.groups.consumer.regex_pattern import rejection
from trio_kafka.coordinators.groups.consumer.regex_search import Matches, Search, matching
from trio_kafka.errors import KafkaError
from trio_kafka.introspect.declared_waits import waits_for_work
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.scheduling.chunked_work import Done, Steps, advance, in_slices
from trio_kafka.scheduling.loop_budget import in_steps

_SLICE_S: Final = 0.002  # of a thread; one match may take longer, 0.25 s at most
_LONGEST_S: Final = 5.0  # of matching one expression, ...
_LONGEST_PER_NAME_S: Final = 1e-4  # ... and for each topic; 2 to 6 µs are usual
_FORGIVEN_AFTER_S: Final = 600.0  # the machine may have been slow
_SEARCHES: Final = 1000  # that wait or run
_KEPT: Final = 100  # expressions whose matches, or whose rejections, are kept
_FILTERED: Final = 200  # names whose permission is checked in a step

T = TypeVar("T")
RunInThread: TypeAlias = Callable[..., Awaitable[Any]]
_logger: Final = get_logger(__name__)


class TopicSearches:
    """Runs searches. done: called with each search that has ended, in the loop."""

    def __init__(
        self,
        run_in_thread: RunInThread,
        node: Node,
        *,
        elapsed: Callable[[], float],
        done: Callable[[Search], None],
    ) -> None:
        self._run_in_thread = run_in_thread
        self._elapsed = elapsed
        self._done = done
        self._waiting: list[Search] = []
        self._wake = trio.Event()
        self._running = 0
        self._ended = 0
        self._turn = trio.Lock()  # first come, first served
        self._kept: OrderedDict[str, Matches] = OrderedDict()
        self._rejected: OrderedDict[str, tuple[KafkaError, float]] = OrderedDict()
        node.add("topic-searches", "part", self._figures)

    def submit(self, search: Search) -> bool:
        """Start a search; False if there are too many: the next heartbeat tries again."""
        if len(self._waiting) + self._running >= _SEARCHES:
            return False
        self._waiting.append(search)
        self._wake.set()
        return True

    def rejection_of(self, regex: str) -> KafkaError | None:
        """Return the error of an expression that took too long in the last ten minutes."""
        if regex not in self._rejected:
            return None
        error, until = self._rejected[regex]
        if trio.current_time() < until:
            return error
        del self._rejected[regex]
        return None

    @waits_for_work("a pattern whose topics are to be found")
    async def run(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> NoReturn:
        """Run searches until cancelled."""
        async with trio.open_nursery() as nursery:
            task_status.started()
            while True:
                await self._wake.wait()
                self._wake = trio.Event()
                waiting, self._waiting = self._waiting, []
                for search in waiting:
                    self._running += 1
                    nursery.start_soon(self._search, search, name=f"search {search.group_id[:64]}")

    async def _search(self, search: Search) -> None:
        try:
            await self._match_all(search)
        except Exception:
            _logger.exception("topic search failed", group=search.group_id)
            search.failed = True
        finally:
            self._running -= 1
        self._ended += 1
        self._done(search)

    async def _match_all(self, search: Search) -> None:
        for regex in search.regexes:
            try:
                names = await self._match(regex, search)
            except KafkaError as error:
                search.rejected[regex] = error.as_value()
                names = frozenset()
            search.matches[regex] = await in_steps(_visible(names, search.may_describe))

    async def _match(self, regex: str, search: Search) -> frozenset[str]:
        """Return the names that an expression matches. Raises KafkaError if it is rejected."""
        if (error := self.rejection_of(regex)) is not None:
            raise error
        steps = matching(regex, search.topics, self._kept.get(regex))
        limit_s = _LONGEST_S + _LONGEST_PER_NAME_S * len(search.topics)
        took_s = 0.0
        done: Done[Matches] | None
        while True:
            async with self._turn:
                done, slice_s = await self._run_in_thread(_slice, steps, self._elapsed)
            if done is not None:
                _keep(self._kept, regex, done.value)
                return done.value.names
            took_s += slice_s
            if took_s > limit_s:
                reason = f"matching {len(search.topics)} topics takes longer than {limit_s:.0f} s"
                error = rejection(regex, reason)
                until = trio.current_time() + _FORGIVEN_AFTER_S
                _keep(self._rejected, regex, (error.as_value(), until))
                raise error

    def _figures(self) -> Figures:
        return {
            "waiting": len(self._waiting),
            "running": self._running,
            "bound": _SEARCHES,
            "ended": self._ended,
            "kept": len(self._kept),
            "rejected": len(self._rejected),
        }


def _slice(
    steps: Steps[Matches], elapsed: Callable[[], float]
) -> tuple[Done[Matches] | None, float]:
    """Take some steps, in a thread; return the result, if there is one yet, and the seconds."""
    began = elapsed()
    done = advance(steps, elapsed, began + _SLICE_S)
    return done, elapsed() - began


def _visible(
    names: Iterable[str], may_describe: Callable[[str], bool] | None
) -> Steps[frozenset[str]]:
    yield
    if may_describe is None:
        return frozenset(names)
    visible: set[str] = set()
    for chunk in in_slices(names, _FILTERED):
        visible.update(filter(may_describe, chunk))
        yield
    return frozenset(visible)


def _keep(kept: OrderedDict[str, T], regex: str, value: T) -> None:
    kept[regex] = value
    kept.move_to_end(regex)
    if len(kept) > _KEPT:
        kept.popitem(last=False)
