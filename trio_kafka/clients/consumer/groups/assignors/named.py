"""Assignors by Kafka's names."""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from trio_kafka.attributes import frozen
from trio_kafka.clients.consumer.groups.assignors.racks import Racks
from trio_kafka.clients.consumer.groups.assignors.range import assign_range
from trio_kafka.clients.consumer.groups.assignors.round_robin import assign_round_robin
from trio_kafka.clients.consumer.groups.assignors.sticky import assign_cooperative, assign_sticky
from trio_kafka.clients.consumer.groups.assignors.values import Assignments, Counts, Members
from trio_kafka.config.setting import ConfigError
from trio_kafka.scheduling.chunked_work import Steps

Assign: TypeAlias = Callable[[Counts, Members, Racks], Steps[Assignments]]
SETTING: Final = "partition.assignment.strategy"


@frozen(kw_only=True)
class Assignor:
    """Assignor with its name in the protocol. is_cooperative: members keep what they own.

    assign: returns the assignments of all members, in steps.
    """

    name: str
    assign: Assign
    is_cooperative: bool = False


def _round_robin(counts: Counts, members: Members, _: Racks) -> Steps[Assignments]:
    yield
    return assign_round_robin(counts, members)


_BY_CLASS: Final = {
    "RangeAssignor": Assignor(name="range", assign=assign_range),
    "RoundRobinAssignor": Assignor(name="roundrobin", assign=_round_robin),
    "StickyAssignor": Assignor(name="sticky", assign=assign_sticky),
    "CooperativeStickyAssignor": Assignor(
        name="cooperative-sticky", assign=assign_cooperative, is_cooperative=True
    ),
}
_BY_NAME: Final = {assignor.name: assignor for assignor in _BY_CLASS.values()}


def named_assignors(names: Sequence[str]) -> list[Assignor]:
    """Return assignors by names of Kafka's classes, or of the protocol. Raises ConfigError."""
    assignors = []
    for name in names:
        short = name.removeprefix("class ").rpartition(".")[2].strip()
        assignor = _BY_CLASS.get(short) or _BY_NAME.get(short)
        if assignor is None:
            raise ConfigError(SETTING, f"no assignor {name!r}: want some of {', '.join(_BY_NAME)}")
        assignors.append(assignor)
    if not assignors:
        raise ConfigError(SETTING, f"is empty: want some of {', '.join(_BY_NAME)}")
    return assignors
