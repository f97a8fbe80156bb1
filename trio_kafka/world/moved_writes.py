"""How far a clock had been moved when records were written, by place and offset.

A real client's clock stands still while a test moves the broker's. So its records are as old as the
test says only if they were written before the move. What is noted is the end of each place when a
move begins: what lies behind it was written during or after the move.
"""

from bisect import bisect_right
from collections.abc import Hashable, Mapping
from operator import itemgetter


class MovedWrites:
    """Marks of all moves: at each place first offsets, ascending, and how far the clock was moved.

    A place that no move has found yet was made after the last one.
    """

    def __init__(self) -> None:
        self._marks: dict[Hashable, list[tuple[int, float]]] = {}

    def note_move(self, ends: Mapping[Hashable, int], before: float, after: float) -> None:
        """Note a move of the clock. Other places are forgotten.

        ends: end offset of each place when it began. before, after: how far the clock was moved.
        """
        previous = self._marks
        self._marks = {place: previous.get(place) or [(0, before)] for place in ends}
        for place, end in ends.items():
            marks = self._marks[place]
            while marks and marks[-1][0] >= end:  # nothing was written since, or it was cut
                marks.pop()
            marks.append((end, after))

    def moved_when(self, place: Hashable, offset: int, moved: float) -> float:
        """Return how far the clock was moved when a record was written.

        moved: how far it is now.
        """
        marks = self._marks.get(place)
        if marks is None:
            return moved
        number = bisect_right(marks, offset, key=itemgetter(0)) - 1
        return marks[max(number, 0)][1]

    def clear(self) -> None:
        """Forget all moves."""
        self._marks.clear()
