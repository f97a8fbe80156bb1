"""Joint wait: one operation in the place of several that a request waits for.

Only the joint operation is registered, in the purgatory of the first one and with the earliest
deadline. It watches the keys of those that are not complete.
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from attrs import evolve, field

from trio_kafka.attributes import define, frozen
from trio_kafka.errors import KafkaError
from trio_kafka.introspect.waits import Wait
from trio_kafka.pending import NO_ANSWER
from trio_kafka.purgatory import Delayed

T = TypeVar("T")


@frozen
class Place(Generic[T]):
    """Place of a value that is not there yet.

    values: gets the value at `index`. refused: returns the value for an operation that raised.
    """

    values: list[object]
    index: int
    operation: Delayed[T]
    refused: Callable[[KafkaError], T]


def joined(places: list[Place[Any]]) -> Delayed[bool]:
    """Return an operation that gives True when all places have their value. places: not empty."""
    wait = _JointWait(places)
    first = places[0].operation
    deadline = min(place.operation.deadline for place in places)
    wait.joint = Delayed(wait.keys(), deadline, wait.try_complete, first.purgatory, wait)
    wait.joint.soon = all(place.operation.soon for place in places)
    for place in places:
        place.operation.joint = wait.joint
    return wait.joint


@define(eq=False)
class _JointWait:
    """State of a joint wait. open_places: without a value. joint: the operation."""

    open_places: list[Place[object]]
    joint: Delayed[bool] = field(init=False)

    def keys(self) -> list[object]:
        """Return the keys of all that is waited for."""
        return [key for place in self.open_places for key in place.operation.keys]

    def waits(self, now: float) -> tuple[Wait, ...]:
        """See `introspect.waits.Waiting`: the waits of the first place, and how many more wait."""
        if not self.open_places:
            return ()
        first, *further = self.open_places[0].operation.waits(now)
        more = len(self.open_places) - 1
        if more:
            first = evolve(first, words=f"{first.words}, and {more:,} more like it")
        return (first, *further)

    def try_complete(self, timed_out: bool) -> bool | None:
        """Fill the places whose operations are complete. Return True if that were all."""
        still_open: list[Place[object]] = []
        keys_changed = False
        for place in self.open_places:
            operation = place.operation
            keys = operation.keys
            try:
                value = operation.try_complete(timed_out)
            except KafkaError as error:
                value = place.refused(error.as_value())
            if value is None:
                still_open.append(place)
                keys_changed = keys_changed or operation.keys is not keys
            else:
                place.values[place.index] = None if value is NO_ANSWER else value
                operation.joint = None
        self.open_places = still_open
        if not still_open:
            return True
        if keys_changed:
            self.joint.watch_instead(self.keys())
        return None
