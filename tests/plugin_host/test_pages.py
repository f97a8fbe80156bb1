"""Pages of the admin UI by name."""

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from trio_kafka.plugin_host.guard import InFlight, PluginError
from trio_kafka.plugin_host.pages import AdminPage, AdminPages, PageError, check_page_name


class Owner:
    """A generation of a plugin, as pages know it."""

    def __init__(self, name: str = "ours") -> None:
        self.name = name
        self.in_flight = InFlight()
        self.limiter = None
        self.deadline_s = 1.0
        self.failures: list[tuple[BaseException, str]] = []

    def failed(self, error: BaseException, where: str) -> None:
        self.failures.append((error, where))


def page(name: str, owner: Any = None) -> AdminPage:
    return AdminPage(name, object, owner or Owner())


def test_a_refused_swap_of_admin_pages_changes_nothing() -> None:
    pages, ours = AdminPages(), [page("a"), page("b")]
    pages.swap((), ours)

    with pytest.raises(PageError, match="page b already belongs to plugin ours"):
        pages.swap(ours[:1], [page("c"), page("b")])

    assert list(pages) == ours
    pages.swap(ours[:1], [other := page("a", Owner("theirs"))])
    pages.swap(ours[:1], ())
    assert pages.find("a") is other
    assert pages.find("c") is None


@pytest.mark.parametrize("name", ["", "A", "1a", "a/b", "a b", "..", "a_b", "api", "static"])
def test_invalid_admin_page_names_are_refused(name: str) -> None:
    with pytest.raises(PageError):
        check_page_name(name)


@pytest.mark.parametrize("name", ["a", "pipelines", "a-1"])
def test_valid_admin_page_names_are_accepted(name: str) -> None:
    check_page_name(name)


async def test_an_error_of_an_admin_page_fails_its_plugin_unless_allowed(
    autojump_clock: MockClock,
) -> None:
    owner = Owner()
    with pytest.raises(ZeroDivisionError), page("a", owner).guarded(KeyError):
        raise ZeroDivisionError
    with pytest.raises(KeyError), page("a", owner).guarded(KeyError):
        raise KeyError
    with pytest.raises(PluginError, match="page a raised SystemExit"), page("a", owner).guarded():
        raise SystemExit

    assert [where for _, where in owner.failures] == ["page a", "page a"]
    assert owner.in_flight.count == 0


async def test_an_admin_page_counts_as_in_flight_and_is_cut_off_when_its_plugin_stops(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    owner = Owner()

    async def read() -> None:
        with (
            pytest.raises(PluginError, match="because the plugin stops"),
            page("a", owner).guarded(),
        ):
            await trio.sleep_forever()

    nursery.start_soon(read)
    await trio.testing.wait_all_tasks_blocked()
    assert owner.in_flight.count == 1
    owner.in_flight.cut_off()
    await owner.in_flight.wait_empty()
    assert owner.failures == []


def test_generation_of_the_pages_grows_with_each_swap_that_is_made() -> None:
    pages, first = AdminPages(), page("a")
    pages.swap((), [first])
    with pytest.raises(PageError):
        pages.swap((), [page("a")])
    assert pages.generation == 1

    pages.swap([first], [page("a")])
    assert pages.generation == 2
