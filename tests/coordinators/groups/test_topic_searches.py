"""Searches for regular expressions: slices in a thread, turns, rejections, kept matches."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import pytest
import trio
from attrs import field
from trio.testing import MockClock

from trio_kafka.attributes import define
from trio_kafka.coordinators.groups import topic_searches
from trio_kafka.coordinators.groups.consumer.regex_search import Search
from trio_kafka.coordinators.groups.topic_searches import TopicSearches
from trio_kafka.errors import ErrorCode
from trio_kafka.introspect.tree import Node


@define(eq=False)
class Shell:
    """Searches whose thread is a pause of virtual time. step_s: what matching one name takes."""

    step_s: float = 0.0
    slices: int = 0
    seconds: float = 0.0
    in_thread: bool = False
    busy: bool = False
    ended: list[Search] = field(factory=list)
    searches: TopicSearches = field(init=False)
    node: Node = field(factory=lambda: Node("broker", "broker"))
    groups: "count[int]" = field(factory=count)

    def __attrs_post_init__(self) -> None:
        self.searches = TopicSearches(
            self.run_in_thread, self.node, elapsed=self.elapsed, done=self.done
        )

    def elapsed(self) -> float:
        """Read the clock: each reading takes `step_s`, as matching reads it after each name."""
        assert self.in_thread, "the loop matches nothing"
        self.seconds += self.step_s
        return self.seconds

    async def run_in_thread(self, call: Callable[..., Any], *args: Any) -> Any:
        assert not self.busy, "one thread for all searches"
        self.busy = True
        await trio.sleep(0.001)
        self.slices += 1
        self.in_thread = True
        try:
            return call(*args)
        finally:
            self.in_thread = self.busy = False

    def done(self, search: Search) -> None:
        self.ended.append(search)

    def search(self, *regexes: str, topics: dict[str, Any], may_describe: Any = None) -> Search:
        search = Search(f"g{next(self.groups)}", topics, 1, 0, regexes, may_describe)
        assert self.searches.submit(search)
        return search

    async def wait_ended(self, ended: int) -> None:
        with trio.fail_after(3600):
            while len(self.ended) < ended:
                await trio.sleep(0.01)


@asynccontextmanager
async def running(step_s: float = 0.0) -> AsyncIterator[Shell]:
    shell = Shell(step_s)
    async with trio.open_nursery() as nursery:
        await nursery.start(shell.searches.run)
        yield shell
        nursery.cancel_scope.cancel()


def topics(number: int) -> dict[str, Any]:
    return {f"t{index}": object() for index in range(number)}


async def test_names_are_matched_in_a_thread_for_all_expressions(autojump_clock: MockClock) -> None:
    async with running() as shell:
        search = shell.search("t[0-4]", "nothing", topics=topics(20))
        await shell.wait_ended(1)

    assert search.matches == {
        "t[0-4]": frozenset({"t0", "t1", "t2", "t3", "t4"}),
        "nothing": frozenset(),
    }
    assert not search.rejected


async def test_a_thread_works_for_two_milliseconds_at_a_time(autojump_clock: MockClock) -> None:
    async with running(step_s=0.0005) as shell:
        shell.search("t.*", topics=topics(40))
        await shell.wait_ended(1)

    assert shell.slices >= 40 * 0.0005 / 0.0025


async def test_quick_search_ends_before_an_earlier_slow_search(autojump_clock: MockClock) -> None:
    async with running(step_s=0.001) as shell:
        slow = shell.search("t.*", topics=topics(2000))
        quick = shell.search("t1", topics=topics(2))
        await shell.wait_ended(2)

    assert shell.ended == [quick, slow]


async def test_an_expression_that_takes_too_long_is_rejected_for_ten_minutes(
    autojump_clock: MockClock,
) -> None:
    names = topics(100)
    async with running(step_s=0.1) as shell:
        search = shell.search("(t|.)*", "t1", topics=names)
        await shell.wait_ended(1)
        slices = shell.slices
        error = search.rejected["(t|.)*"]
        assert error.code is ErrorCode.INVALID_REGULAR_EXPRESSION
        assert "matching 100 topics takes longer than 5 s" in str(error)
        assert search.matches["(t|.)*"] == frozenset()
        assert shell.searches.rejection_of("(t|.)*") is not None

        again = shell.search("(t|.)*", topics=names)
        await shell.wait_ended(2)
        assert list(again.rejected) == ["(t|.)*"]
        assert shell.slices == slices, "it was rejected at once"

        shell.step_s = 0.0
        await trio.sleep(600)
        assert shell.searches.rejection_of("(t|.)*") is None
        later = shell.search("(t|.)*", topics=names)
        await shell.wait_ended(3)
    assert len(later.matches["(t|.)*"]) == 100


async def test_an_invalid_stored_expression_matches_nothing(autojump_clock: MockClock) -> None:
    async with running() as shell:
        search = shell.search("(", "t1", topics=topics(3))
        await shell.wait_ended(1)

    assert search.matches == {"(": frozenset(), "t1": frozenset({"t1"})}
    assert list(search.rejected) == ["("]


async def test_groups_share_cached_matches_of_an_expression(autojump_clock: MockClock) -> None:
    names = topics(5000)
    async with running(step_s=0.0001) as shell:
        shell.search("t.*", topics=names)
        await shell.wait_ended(1)
        slices = shell.slices
        other = shell.search("t.*", topics=names)
        await shell.wait_ended(2)

    assert shell.slices == slices + 1
    assert len(other.matches["t.*"]) == 5000


async def test_matches_contain_only_topics_that_the_member_may_describe(
    autojump_clock: MockClock,
) -> None:
    names = topics(500)
    async with running() as shell:
        few = shell.search("t.*", topics=names, may_describe=lambda name: name == "t7")
        everything = shell.search("t.*", topics=names)
        await shell.wait_ended(2)

    assert few.matches["t.*"] == {"t7"}
    assert len(everything.matches["t.*"]) == 500


async def test_search_that_raises_an_exception_does_not_affect_other_searches(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(name: str) -> bool:
        raise RuntimeError(name)

    async with running() as shell:
        failed = shell.search("t.*", topics=topics(2), may_describe=fail)
        other = shell.search("t.*", topics=topics(2))
        await shell.wait_ended(2)

    assert failed.failed
    assert not other.failed
    assert "topic search failed" in caplog.text


async def test_numbers_of_searches_and_cached_expressions_are_bounded(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topic_searches, "_SEARCHES", 3)
    async with running() as shell:
        for number in range(3):
            shell.search(f"t{number}", topics=topics(1))
        assert not shell.searches.submit(Search("g", {}, 1, 0, ()))
        await shell.wait_ended(3)
        for number in range(150):
            shell.search(f"t{number}", topics=topics(1))
            await shell.wait_ended(4 + number)

    (node,) = shell.node.children
    assert node.figures() == {
        "waiting": 0,
        "running": 0,
        "bound": 3,
        "ended": 153,
        "kept": 100,
        "rejected": 0,
    }
