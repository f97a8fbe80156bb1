"""Rates of counters of the broker, from what pages saw of them a few seconds ago.

Counters only grow. Each is kept as it was at most a few times, at least APART_S apart, for some
WINDOW_S: a rate is the growth since the oldest of these. A counter that no page shows is
forgotten, and so are the oldest of too many.
"""

from collections.abc import Hashable, Sequence
from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import define

APART_S: Final = 5.0
WINDOW_S: Final = 10.0
STALE_S: Final = 60.0
MOST: Final = 10_000  # keys
_Look = tuple[float, tuple[int, ...]]


@define(eq=False)
class RateHistory:
    """Counters by key. The key that was looked at last is the last one."""

    _looks: dict[Hashable, list[_Look]] = field(factory=dict, init=False)

    def __len__(self) -> int:
        return len(self._looks)

    def note(self, key: Hashable, counts: Sequence[int]) -> tuple[float, ...] | None:
        """Note the counters of a key as they are now, and return their rates per second.

        None: this is the first look, or a counter has begun anew.
        """
        now, counters = trio.current_time(), tuple(counts)
        looks = self._looks.pop(key, [])
        if looks and (now - looks[-1][0] > STALE_S or _has_fallen(looks[-1][1], counters)):
            looks = []
        rates = _rates(looks, now, counters)
        if not looks or now - looks[-1][0] >= APART_S:
            looks.append((now, counters))
        while len(looks) > 2 and now - looks[1][0] >= WINDOW_S:
            del looks[0]
        self._looks[key] = looks
        if len(self._looks) > MOST:
            del self._looks[next(iter(self._looks))]
        return rates


def _rates(looks: list[_Look], now: float, counters: tuple[int, ...]) -> tuple[float, ...] | None:
    if not looks or now <= looks[0][0]:
        return None
    begun, before = looks[0]
    seconds = now - begun
    return tuple((after - count) / seconds for count, after in zip(before, counters, strict=True))


def _has_fallen(before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    return len(before) != len(after) or any(
        count < earlier for earlier, count in zip(before, after, strict=True)
    )
