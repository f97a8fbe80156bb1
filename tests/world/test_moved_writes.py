"""Clock moves before the write of a record."""

import pytest

from trio_kafka.world.moved_writes import MovedWrites


def test_record_is_shifted_by_clock_moves_before_its_write_only():
    writes = MovedWrites()

    writes.note_move({"a": 3}, 0.0, 100.0)
    writes.note_move({"a": 7}, 100.0, 250.0)

    moved = [writes.moved_when("a", offset, 250.0) for offset in (0, 2, 3, 6, 7, 90)]
    assert moved == [0.0, 0.0, 100.0, 100.0, 250.0, 250.0]


def test_clock_moves_without_a_record_in_between_are_stored_as_a_single_move():
    writes = MovedWrites()
    for number in range(1000):
        writes.note_move({"a": 3}, 10.0 * number, 10.0 * number + 10)

    assert [writes.moved_when("a", offset, 0.0) for offset in (2, 3)] == [0.0, 10_000.0]
    assert len(writes._marks["a"]) == 2  # white box: as many marks as writes, not as moves


@pytest.mark.parametrize("offset", [0, 5])
def test_log_created_after_the_last_clock_move_is_shifted_by_all_moves(offset):
    writes = MovedWrites()
    writes.note_move({"a": 3}, 0.0, 100.0)

    assert writes.moved_when("b", offset, 100.0) == 100.0

    writes.note_move({"a": 3, "b": 6}, 100.0, 150.0)

    assert writes.moved_when("b", offset, 150.0) == 100.0


def test_deleted_log_is_forgotten_and_a_new_log_is_shifted_by_all_moves():
    writes = MovedWrites()
    writes.note_move({"a": 3}, 0.0, 100.0)
    writes.note_move({}, 100.0, 200.0)

    assert writes.moved_when("a", 0, 200.0) == 200.0


def test_rewritten_records_after_a_truncation_are_shifted_by_the_later_move():
    writes = MovedWrites()
    writes.note_move({"a": 9}, 0.0, 100.0)
    writes.note_move({"a": 4}, 100.0, 200.0)

    assert [writes.moved_when("a", offset, 200.0) for offset in (3, 4)] == [0.0, 200.0]


def test_clear_of_the_clock_moves_removes_all_shifts():
    writes = MovedWrites()
    writes.note_move({"a": 3}, 0.0, 100.0)

    writes.clear()

    assert writes.moved_when("a", 3, 0.0) == 0.0
