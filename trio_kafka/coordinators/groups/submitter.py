"""Interface of the group coordinator for its services: submit an event, get an answer."""

from collections.abc import Callable, Iterable
from math import inf
from typing import Any, Protocol, TypeVar

from trio_kafka.coordinators.groups.groups import Event
from trio_kafka.coordinators.groups.settings import GroupSettings

T = TypeVar("T")


class Submitter(Protocol):
    """Submits events to the shards. settings: of groups without settings of their own.

    timeout_s: bound of a wait for the log alone.
    """

    settings: GroupSettings
    timeout_s: float

    def submit(
        self,
        wait: str,
        group_id: str,
        event: Event,
        make: Callable[[Any], T],
        *,
        timeout_s: float = inf,
    ) -> Any:
        """Submit an event to a group's shard; return what `make` makes of the answer, or a Delayed.

        wait: name of the purgatory. Raises KafkaError: an error of the machine or of the shard.
        """

    def submit_told(
        self,
        wait: str,
        group_id: str,
        event: Event,
        make: Callable[[Any], T],
        *,
        timeout_s: float = inf,
    ) -> Any:
        """Submit an event; errors are passed to `make` like any answer."""

    def submit_many(
        self,
        wait: str,
        events: Iterable[tuple[str, Event]],
        make: Callable[[list[Any]], T],
        *,
        timeout_s: float = inf,
    ) -> Any:
        """Submit events by group id; `make` gets all answers in order, errors included.

        Many events are submitted in steps, and `make` may return steps, too.
        """
