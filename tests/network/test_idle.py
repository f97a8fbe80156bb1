"""Who is idle, and who only waits for us."""

import pytest

from trio_kafka.network import items
from trio_kafka.network.idle import is_idle


class Quiet:
    """A connection, as far as idleness is concerned."""

    def __init__(self, muted: int, *, out: bool = False, closed: bool = False) -> None:
        self.progress = 100.0
        self.muted = muted
        self.out = object() if out else None
        self.closed = closed


@pytest.mark.parametrize(
    ("connection", "idle"),
    [
        (Quiet(0), True),
        (Quiet(0, closed=True), False),
        (Quiet(items.IN_HAND), False),
        (Quiet(items.IN_HAND, out=True), True),
        (Quiet(items.IN_HAND | items.CHANNEL_FULL), False),
        (Quiet(items.THROTTLED), False),
    ],
)
def test_idle_is_who_neither_asks_nor_takes(connection: Quiet, idle: bool) -> None:
    assert is_idle(connection, 101.0) is idle  # type: ignore[arg-type]
    assert not is_idle(connection, 99.0)  # type: ignore[arg-type]
