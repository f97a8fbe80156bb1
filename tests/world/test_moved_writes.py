"""What had been moved when a record was written."""

import pytest

from trio_kafka.world.moved_writes import MovedWrites


def test_a_record_has_the_move_before_it_and_not_the_one_after_it():
    writes = MovedWrites()

    writes.note_move({"a": 3}, 0.0, 100.0)
    writes.note_move({"a": 7}, 100.0, 250.0)

    moved = [writes.moved_when("a", offset, 250.0) for offset in (0, 2, 3, 6, 7, 90)]
    assert moved == [0.0, 0.0, 100.0, 100.0, 250.0, 250.0]


def test_moves_without_a_record_in_between_are_one_move():
    writes = MovedWrites()
    for number in range(1000):
        writes.note_move({"a": 3}, 10.0 * number, 10.0 * number + 10)

    assert [writes.moved_when("a", offset, 0.0) for offset in (2, 3)] == [0.0, 10_000.0]
    assert len(writes._marks["a"]) == 2  # white box: as many marks as writes, not as moves


@pytest.mark.parametrize("offset", [0, 5])
def test_a_place_that_was_made_after_the_last_move_has_all_of_it(offset):
    writes = MovedWrites()
    writes.note_move({"a": 3}, 0.0, 100.0)

    assert writes.moved_when("b", offset, 100.0) == 100.0

    writes.note_move({"a": 3, "b": 6}, 100.0, 150.0)

    assert writes.moved_when("b", offset, 150.0) == 100.0


def test_a_place_that_is_gone_is_forgotten_and_begins_anew():
    writes = MovedWrites()
    writes.note_move({"a": 3}, 0.0, 100.0)
    writes.note_move({}, 100.0, 200.0)

    assert writes.moved_when("a", 0, 200.0) == 200.0


def test_records_that_were_cut_and_written_again_have_the_later_move():
    writes = MovedWrites()
    writes.note_move({"a": 9}, 0.0, 100.0)
    writes.note_move({"a": 4}, 100.0, 200.0)

    assert [writes.moved_when("a", offset, 200.0) for offset in (3, 4)] == [0.0, 200.0]


def test_after_a_reset_nothing_was_moved():
    writes = MovedWrites()
    writes.note_move({"a": 3}, 0.0, 100.0)

    writes.clear()

    assert writes.moved_when("a", 3, 0.0) == 0.0
