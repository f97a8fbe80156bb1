"""Rules about committed offsets."""

import pytest

from trio_kafka.testing.checkers import History, excess_commits, lost_commits


@pytest.fixture
def history() -> History:
    return History()


def commit(history: History, offset: int, *, answered: bool = True) -> None:
    history.commit_sent("c", "g", "t", 0, offset=offset)
    if answered:
        history.committed("c", "g", "t", 0, offset=offset)


def find(history: History, offset: int) -> list[str]:
    history.commit_found("g", "t", 0, offset=offset, since=history.mark())
    return [lost_commit.text for lost_commit in lost_commits(history)]


def test_group_may_commit_offsets_read_by_any_of_its_members(history):
    history.positioned("c", "t", 0, offset=3, group="g")
    commit(history, 3)
    history.read("d", "t", 0, "x", offset=7, group="g")
    commit(history, 8)

    assert excess_commits(history) == []


def test_commit_beyond_the_offsets_read_by_its_group_is_reported_once(history):
    history.read("c", "t", 0, "x", offset=7, group="g")
    history.read("c", "t", 0, "y", offset=9, group="another")
    commit(history, 9)

    assert [str(excess_commit) for excess_commit in excess_commits(history)] == [
        "committed unread: c of group g committed offset 9 of t-0; the group had read up to 8"
    ]


def test_older_offset_than_the_last_acknowledged_commit_is_reported(history):
    assert find(history, -1) == []
    commit(history, 4)
    commit(history, 6)
    assert find(history, 6) == []

    assert find(history, 4) == [
        "the coordinator returned offset 4 of t-0 for group g; the last acknowledged commit is 6"
    ]


def test_unacknowledged_commit_may_or_may_not_have_taken_effect(history):
    commit(history, 4)
    commit(history, 6, answered=False)

    assert find(history, 4) == []
    assert find(history, 6) == []
    [text] = find(history, 5)
    assert text.endswith("the last acknowledged commit is 4, [6] may have taken effect")


def test_commit_acknowledged_during_the_fetch_of_offsets_may_be_found_or_not(history):
    commit(history, 4)
    since = history.mark()
    commit(history, 6)

    for offset in (4, 6):
        history.commit_found("g", "t", 0, offset=offset, since=since)

    assert lost_commits(history) == []
