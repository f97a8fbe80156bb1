"""Epochs and where they begin."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.errors import InvariantError
from trio_kafka.raft.history import History

runs = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=12)


def test_an_epoch_ends_where_the_next_one_begins() -> None:
    history = History.of([(1, 0), (4, 10)], 15)

    assert history.end_of(1) == (1, 10)
    assert history.end_of(3) == (1, 10)
    assert history.end_of(4) == (4, 15)
    assert history.end_of(9) == (4, 15)
    assert history.end_of(0) == (0, 0)


def test_epoch_at_an_end_offset_is_that_of_the_record_before() -> None:
    history = History.of([(1, 0), (4, 10)], 15)

    assert [history.epoch_at(end) for end in (0, 1, 10, 11, 15)] == [0, 1, 1, 4, 4]


def test_an_empty_append_begins_no_epoch() -> None:
    history = History.of([(1, 0)], 5)

    history.append(5, 2)

    assert history.last_epoch == 1


@given(runs, st.integers(0, 60))
def test_history_agrees_with_a_list_of_the_epochs_of_all_records(
    added: list[tuple[int, int]], cut: int
) -> None:
    history = History()
    epochs: list[int] = []
    epoch = 1
    for step, count in added:
        epoch += step
        epochs += [epoch] * count
        history.append(len(epochs), epoch)
    del epochs[cut:]
    history.truncate(cut)

    assert history.end == len(epochs)
    assert history.last_epoch == (epochs[-1] if epochs else 0)
    for end in range(1, len(epochs) + 1):
        assert history.epoch_at(end) == epochs[end - 1]
    for past_epoch in set(epochs):
        assert history.end_of(past_epoch) == (
            past_epoch,
            len(epochs) - epochs[::-1].index(past_epoch),
        )


def test_records_of_an_older_epoch_are_refused() -> None:
    history = History.of([(5, 0)], 10)

    with pytest.raises(InvariantError, match="epoch 4 behind those of 5"):
        history.append(11, 4)
