"""Effects: two of them as one."""

import pytest

from trio_kafka.coordinators.shards.effects import (
    CancelTimer,
    CoordinatorRecord,
    Effects,
    SetTimer,
)

RECORD = CoordinatorRecord("a")


def test_joined_effects_keep_their_order() -> None:
    first = Effects().answer("x", 1).set_timer(("a",), 5)
    second = Effects(records=[RECORD]).answer("y", 2).cancel_timer(("a",))

    both = first.join(second)

    assert both.records == [RECORD]
    assert both.answers == [("x", 1), ("y", 2)]
    assert both.timers == [SetTimer(("a",), 5), CancelTimer(("a",))]


def test_joined_effects_take_the_flags_of_their_records() -> None:
    loose = Effects(records=[RECORD], atomic=False)

    assert not Effects().join(loose).atomic
    assert Effects(records=[RECORD]).join(loose).atomic
    assert not Effects().join(Effects(records=[RECORD], replays=False)).replays


def test_joining_incompatible_effects_raises_a_value_error() -> None:
    with pytest.raises(ValueError, match="with records that are not"):
        Effects(records=[RECORD]).join(Effects(records=[RECORD], replays=False))
    with pytest.raises(ValueError, match="fate of their records"):
        Effects(committed=lambda _now_ms: Effects()).join(
            Effects(committed=lambda _now_ms: Effects())
        )
