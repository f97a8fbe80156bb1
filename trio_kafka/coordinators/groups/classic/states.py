"""States of a classic group: the table of its transitions, and that of refused requests.

What else depends on the state is decided where the request or timer is handled, by
`ClassicGroup.phase`. `docs/design/classic-groups.md`, "A new state", lists these places.

`docs/design/classic-groups.md` draws its diagram from this table:
`python -m tests.coordinators.groups.classic.diagram` writes it. Source: ClassicGroupState of Apache
Kafka 4.4.0.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final

from trio_kafka.errors import ErrorCode


class ClassicState(Enum):
    """State of a classic group. The value is the text that Kafka's tools print."""

    __hash__ = object.__hash__  # that of Enum is a function of Python, called at each look-up

    EMPTY = "Empty"  # no members; kept while it has offsets
    PREPARING_REBALANCE = "PreparingRebalance"  # members must join; joins are pending
    COMPLETING_REBALANCE = (
        "CompletingRebalance"  # members know their generation; the leader assigns
    )
    STABLE = "Stable"  # every member has its assignment
    DEAD = "Dead"  # deleted or converted


WITH_GENERATION: Final = (ClassicState.COMPLETING_REBALANCE, ClassicState.STABLE)
"""States in which the members have a generation: if one of them goes, a rebalance starts."""


class GroupEvent(Enum):
    """Change of the state of a group. The value is shown in the diagram."""

    MEMBERS_CHANGE = "members change, or the record is refused"
    GENERATION_BEGINS = "all have joined, or their time is over"
    MEMBERS_ARE_GONE = "no member is left"
    ASSIGNMENTS_STORED = "the leader's record is committed"
    END = "deleted or converted"


TRANSITIONS: Final[Mapping[tuple[ClassicState, GroupEvent], ClassicState]] = {
    (ClassicState.EMPTY, GroupEvent.MEMBERS_CHANGE): ClassicState.PREPARING_REBALANCE,
    (ClassicState.PREPARING_REBALANCE, GroupEvent.MEMBERS_ARE_GONE): ClassicState.EMPTY,
    (
        ClassicState.PREPARING_REBALANCE,
        GroupEvent.GENERATION_BEGINS,
    ): ClassicState.COMPLETING_REBALANCE,
    (ClassicState.COMPLETING_REBALANCE, GroupEvent.ASSIGNMENTS_STORED): ClassicState.STABLE,
    (
        ClassicState.COMPLETING_REBALANCE,
        GroupEvent.MEMBERS_CHANGE,
    ): ClassicState.PREPARING_REBALANCE,
    (ClassicState.STABLE, GroupEvent.MEMBERS_CHANGE): ClassicState.PREPARING_REBALANCE,
    **{(state, GroupEvent.END): ClassicState.DEAD for state in ClassicState},
}
"""State after an event. An event that is missing for a state cannot happen in it. Every state, also
a new one, has END.
"""


class MemberRequest(Enum):
    """Request of a member that some state refuses. The value is Kafka's name for it."""

    __hash__ = object.__hash__

    SYNC = "SyncGroup"
    HEARTBEAT = "Heartbeat"
    COMMIT = "OffsetCommit"


REFUSALS: Final[Mapping[tuple[MemberRequest, ClassicState], ErrorCode]] = {
    # The member is alive and must join.
    (MemberRequest.SYNC, ClassicState.PREPARING_REBALANCE): ErrorCode.REBALANCE_IN_PROGRESS,
    (MemberRequest.HEARTBEAT, ClassicState.PREPARING_REBALANCE): ErrorCode.REBALANCE_IN_PROGRESS,
    # The member does not know its assignment yet.
    (MemberRequest.COMMIT, ClassicState.COMPLETING_REBALANCE): ErrorCode.REBALANCE_IN_PROGRESS,
}
"""Error for a known member of the current generation; what is missing here is served. A group that
is Dead refuses every request with COORDINATOR_NOT_AVAILABLE, before it looks for the member.
"""
