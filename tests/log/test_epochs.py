import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.log.epochs import LeaderEpochs

ROWS = [(0, 0), (2, 4), (4, 8)]


@pytest.mark.parametrize(
    ("epoch", "answer"),
    [
        (-1, (-1, -1)),
        (0, (0, 4)),
        (1, (0, 4)),
        (2, (2, 8)),
        (3, (2, 8)),
        (4, (4, 15)),
        (5, (-1, -1)),
    ],
)
def test_leader_epoch_ends_where_the_next_epoch_begins(epoch, answer):
    assert LeaderEpochs(ROWS).end_offset(epoch, 15) == answer


def test_epoch_before_the_first_known_epoch_ends_at_the_start_of_that_epoch():
    assert LeaderEpochs([(3, 10), (4, 20)]).end_offset(1, 30) == (1, 10)


def test_empty_leader_epochs_have_no_latest_epoch_and_no_end_offset():
    assert LeaderEpochs().end_offset(0, 0) == (-1, -1)
    assert LeaderEpochs().latest == -1


def test_new_epoch_removes_entries_of_later_epochs_and_offsets():
    epochs = LeaderEpochs(ROWS)

    epochs.assign(3, 6)

    assert epochs.rows == [(0, 0), (2, 4), (3, 6)]


def test_current_or_missing_epoch_changes_no_entry():
    epochs = LeaderEpochs(ROWS)

    epochs.assign(4, 12)
    epochs.assign(-1, 13)

    assert not epochs.dirty
    assert epochs.rows == ROWS


@pytest.mark.parametrize(
    ("offset", "rows"),
    [(0, ROWS), (1, [(0, 1), (2, 4), (4, 8)]), (4, [(2, 4), (4, 8)]), (20, [(4, 20)])],
)
def test_epoch_that_contains_the_new_start_offset_begins_there(offset, rows):
    epochs = LeaderEpochs(ROWS)

    epochs.truncate_from_start(offset)

    assert epochs.rows == rows
    assert epochs.dirty == (rows != ROWS)


@pytest.mark.parametrize(("offset", "rows"), [(9, ROWS), (8, ROWS[:2]), (1, ROWS[:1]), (0, [])])
def test_epochs_that_begin_at_or_after_the_new_end_are_removed(offset, rows):
    epochs = LeaderEpochs(ROWS)

    epochs.truncate_from_end(offset)

    assert epochs.rows == rows
    assert epochs.latest == (rows[-1][0] if rows else -1)


def test_epoch_of_an_offset_is_the_last_epoch_that_begins_at_or_before():
    assert [LeaderEpochs(ROWS).epoch_at(offset) for offset in (0, 3, 4, 100)] == [0, 0, 2, 4]


CHANGES = st.lists(
    st.tuples(st.sampled_from(["assign", "end", "start"]), st.integers(0, 9), st.integers(0, 99))
)


@given(CHANGES)
def test_epochs_and_their_start_offsets_ascend_after_any_changes(changes):
    epochs = LeaderEpochs()
    for kind, epoch, offset in changes:
        match kind:
            case "assign":
                epochs.assign(epoch, offset)
            case "end":
                epochs.truncate_from_end(offset)
            case _:
                epochs.truncate_from_start(offset)
        for column in zip(*epochs.rows, strict=True):
            assert list(column) == sorted(set(column))
