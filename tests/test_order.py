"""Tests that wait for processes run beside tests that only compute, each kind in one worker."""

from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import WAITING
from tests.order import shares, spread


def kind_of(test: str) -> int | None:
    return int(test[0]) if test[0].isdigit() else None


def order(tests: str, workers: int) -> list[str]:
    """Return what each worker begins with."""
    ordered = spread(tests.split(), kinds=2, kind_of=kind_of, workers=workers)
    begins, at = [], 0
    for share in shares(len(ordered), workers):
        begins.append(" ".join(ordered[at : at + share]))
        at += share
    return begins


def test_each_kind_that_waits_begins_a_share_and_the_last_worker_only_computes() -> None:
    assert order("a 1a b 0a c 1b d 0b e f", 3) == ["0a 0b a", "1a 1b b", "c d e f"]


def test_one_of_two_workers_has_all_tests_that_wait() -> None:
    assert order("a 1a b 0a c", 2) == ["0a 1a", "a b c"]


def test_tests_that_wait_come_first_in_a_run_of_one_process() -> None:
    assert order("a 1a b 0a c", 1) == ["0a 1a a b c"]


def test_tests_beyond_a_share_begin_the_next_one() -> None:
    assert order("0a 0b 0c 0d 1a a", 3) == ["0a 0b", "0c 0d", "1a a"]


@given(
    st.lists(st.sampled_from(["0", "1", "a"])),
    st.integers(1, 5),
)
def test_every_test_is_in_exactly_one_share(kinds: list[str], workers: int) -> None:
    tests = [f"{kind}{number}" for number, kind in enumerate(kinds)]

    ordered = spread(tests, kinds=2, kind_of=kind_of, workers=workers)

    assert sorted(ordered) == sorted(tests)
    assert sum(shares(len(tests), workers)) == len(tests)


def test_folders_of_tests_that_wait_exist_and_are_listed_once() -> None:
    folders = [folder for line in WAITING for folder in line]

    assert [folder for folder in folders if not folder.is_dir()] == []
    assert len(set(folders)) == len(folders)
