"""Renderings that all viewers of a page share."""

from collections.abc import Awaitable, Callable

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from trio_kafka_admin.renderings import MOST, Renderings
from trio_kafka_admin.tree_snapshots import FRESH_S
from trio_kafka_http.asgi_json import HttpError, InFlight


class Renderer:
    """Renders for a tenth of a second; `errors` are raised by the next renderings."""

    def __init__(self, seconds: float = 0.1) -> None:
        self.seconds = seconds
        self.begun = 0
        self.errors: list[Exception] = []

    async def __call__(self) -> str:
        self.begun += 1
        number = self.begun
        await trio.sleep(self.seconds)
        if self.errors:
            raise self.errors.pop()
        return f"rendering {number}"


def shared(bound: int = 16) -> Renderings[str]:
    return Renderings(InFlight(bound), FRESH_S)


async def viewers(
    count: int, renderings: Renderings[str], render: Callable[[], Awaitable[str]]
) -> list[str]:
    """Return the renderings that so many viewers get who ask at once."""
    shown = list[str]()

    async def view() -> None:
        shown.append(await renderings.get("page", render))

    async with trio.open_nursery() as nursery:
        for _ in range(count):
            nursery.start_soon(view)
    return shown


async def test_viewers_of_one_page_share_one_rendering(autojump_clock: MockClock) -> None:
    renderings, renderer = shared(), Renderer()

    first = await viewers(50, renderings, renderer)
    later = await viewers(3, renderings, renderer)

    assert first == ["rendering 1"] * 50
    assert later == ["rendering 1"] * 3


async def test_viewers_that_waited_share_a_rendering_that_took_longer_than_a_tick(
    autojump_clock: MockClock,
) -> None:
    renderings, renderer = shared(), Renderer(2 * FRESH_S)

    first = await viewers(50, renderings, renderer)
    await trio.sleep(0.01)
    later = await renderings.get("page", renderer)

    assert (first, later) == (["rendering 1"] * 50, "rendering 2")


async def test_page_is_rendered_again_once_its_rendering_is_no_longer_fresh(
    autojump_clock: MockClock,
) -> None:
    renderings, renderer = shared(), Renderer()

    await renderings.get("page", renderer)  # takes 0.1 s, and is as old as its begin
    await trio.sleep(FRESH_S - 0.11)
    fresh = await renderings.get("page", renderer)
    await trio.sleep(0.01)
    next_one = await renderings.get("page", renderer)

    assert (fresh, next_one) == ("rendering 1", "rendering 2")


async def test_stuck_rendering_holds_up_no_other_page(autojump_clock: MockClock) -> None:
    renderings, renderer = shared(bound=2), Renderer()

    async def hang() -> str:
        await trio.sleep_forever()
        raise AssertionError

    async with trio.open_nursery() as nursery:
        for _ in range(50):
            nursery.start_soon(renderings.get, "stuck", hang)
        await wait_all_tasks_blocked()

        assert await renderings.get("page", renderer) == "rendering 1"
        nursery.cancel_scope.cancel()


async def test_rendering_of_a_viewer_that_leaves_is_taken_over_by_the_next(
    autojump_clock: MockClock,
) -> None:
    renderings, renderer = shared(), Renderer()

    async with trio.open_nursery() as nursery:
        leaving = trio.CancelScope()

        async def leave() -> None:
            with leaving:
                await renderings.get("page", renderer)

        nursery.start_soon(leave)
        await wait_all_tasks_blocked()
        shown = list[str]()

        async def stay() -> None:
            shown.append(await renderings.get("page", renderer))

        nursery.start_soon(stay)
        await wait_all_tasks_blocked()
        leaving.cancel()

    assert shown == ["rendering 2"]


async def test_large_rendering_is_shared_by_those_that_wait_and_then_dropped(
    autojump_clock: MockClock,
) -> None:
    renderings, renderer = shared(), Renderer()
    shown = list[str]()

    async def view() -> None:
        shown.append(await renderings.get("trace", renderer, is_kept=False))

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(view)

    assert shown == ["rendering 1"] * 3
    assert renderings._kept == {}


async def test_failed_rendering_is_not_kept(autojump_clock: MockClock) -> None:
    renderings, renderer = shared(), Renderer()
    renderer.errors.append(ValueError("not now"))

    with pytest.raises(ValueError, match="not now"):
        await renderings.get("page", renderer)

    assert await renderings.get("page", renderer) == "rendering 2"


async def test_further_pages_are_refused_while_too_many_are_rendered(
    autojump_clock: MockClock,
) -> None:
    renderings, renderer = shared(bound=2), Renderer()

    async with trio.open_nursery() as nursery:
        for name in "ab":
            nursery.start_soon(renderings.get, name, renderer)
        await wait_all_tasks_blocked()
        with pytest.raises(HttpError, match="too many requests at once") as refused:
            await renderings.get("c", renderer)

    assert refused.value.status == 503
    await renderings.get("a", renderer)
    assert renderer.begun == 2  # "c" was not rendered, "a" only once
    figures = renderings.in_flight.figures()
    assert (figures["depth"], figures["high_water"], figures["items"]) == (0, 2, 2)


async def test_old_renderings_are_dropped_and_the_oldest_of_too_many(
    autojump_clock: MockClock,
) -> None:
    renderings = shared()

    async def render() -> str:
        await trio.lowlevel.checkpoint()
        return "text"

    for number in range(MOST + 10):
        await renderings.get(number, render)
    assert list(renderings._kept) == list(range(10, MOST + 10))
    assert renderings._turns == {}

    await trio.sleep(FRESH_S)
    await renderings.get("page", render)
    assert list(renderings._kept) == ["page"]
