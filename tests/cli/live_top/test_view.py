"""Keys of the live screen."""

from functools import reduce

import pytest

from trio_kafka.cli.live_top.tables import TABLES
from trio_kafka.cli.live_top.view import (
    DOWN,
    ESCAPE,
    LONGEST_FILTER,
    PAGE,
    PAGE_DOWN,
    PAGE_UP,
    UP,
    View,
    press,
)


def after(*keys: str) -> View:
    return reduce(press, keys, View())


def test_digits_and_tab_choose_tables_each_with_its_own_order() -> None:
    assert (after("3").table, after("3").order) == (2, TABLES[2].order)
    assert after("\t").table == 1
    assert after(*["\t"] * len(TABLES)).table == 0
    assert after("9") == View()


def test_sort_goes_through_the_columns_and_forgets_the_reversed_order() -> None:
    assert after("s").order == TABLES[0].order + 1
    assert after("r").reverse
    assert not after("r", "s").reverse
    assert after(*["s"] * len(TABLES[0].columns)).order == TABLES[0].order


def test_filter_takes_letters_that_are_keys_otherwise() -> None:
    view = after("/", "q", "s", "3", "x", "\x7f")

    assert (view.filter, view.typing, view.ended) == ("qs3", True, False)
    kept = press(view, "\n")
    assert (kept.filter, kept.typing) == ("qs3", False)
    assert press(kept, ESCAPE).filter == ""
    assert press(view, ESCAPE).filter == ""
    assert len(after("/", *["x"] * 100).filter) == LONGEST_FILTER


@pytest.mark.parametrize(
    ("keys", "first"),
    [((DOWN, DOWN, UP), 1), ((UP,), 0), ((PAGE_DOWN, DOWN), PAGE + 1), ((DOWN, PAGE_UP), 0)],
)
def test_rows_scroll_and_stop_at_the_top(keys: tuple[str, ...], first: int) -> None:
    assert after(*keys).first == first


def test_pause_and_help_are_switched_on_and_off() -> None:
    assert after("p").paused
    assert not after("p", "p").paused
    assert after("?").help
    assert not after("?", ESCAPE).help
    assert after("q").ended
    assert after("x") == View()
