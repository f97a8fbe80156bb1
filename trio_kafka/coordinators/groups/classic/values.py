"""Requests to a classic group and its answers: values, not messages.

None of them is ever changed. Those made for every request are not frozen, see `CoordinatorRecord`.
"""

from collections.abc import Callable
from typing import NamedTuple

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.errors import ErrorCode

NO_MEMBER_ID = ""  # a client that has not joined, or a member that an administrator removes
NO_GENERATION = -1


class GroupProtocol(NamedTuple):
    """An assignment protocol that a member supports, with its metadata for the leader."""

    name: str
    metadata: bytes


# Made by position for each request: by keyword it takes three times as long.


@define
class Joining:
    """JoinGroup. Times in ms.

    member_id: empty where the client has none yet. protocols: in the order of preference.
    fresh: what a new member's id ends in; chance comes from outside. Empty for one that has an id.
    asks_for_id: the version has the member come back with an id that it was given (KIP-394).
    skips_assignment: the version lets a leader know that it need not assign (KIP-814).
    may_describe: as `consumer.values.Heartbeat`, for a member of a consumer group.
    """

    member_id: str
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: tuple[GroupProtocol, ...]
    instance_id: str | None = None
    reason: str | None = None
    fresh: str = ""
    asks_for_id: bool = True
    skips_assignment: bool = True
    may_describe: Callable[[str], bool] | None = None

    @property
    def new_member_id(self) -> str:
        """The id of the member, should it be new: it begins with what an operator knows."""
        known = self.client_id if self.instance_id is None else self.instance_id
        return f"{known}-{self.fresh}"


@define
class JoinedMember:
    """A member, as the leader sees it."""

    member_id: str
    instance_id: str | None
    metadata: bytes


@define
class Joined:
    """The answer to JoinGroup. Errors that come with a member id are values too."""

    member_id: str
    error: ErrorCode = ErrorCode.NONE
    generation: int = NO_GENERATION
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str = ""
    members: tuple[JoinedMember, ...] = ()
    skip_assignment: bool = False


@define
class Syncing:
    """SyncGroup. assignments: by member id, from the leader alone. None: it did not say."""

    member_id: str
    generation: int
    instance_id: str | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignments: dict[str, bytes] = field(factory=dict)


@define
class Synced:
    """The answer to SyncGroup."""

    protocol_type: str | None
    protocol_name: str | None
    assignment: bytes


@define
class Beating:
    """Heartbeat."""

    member_id: str
    instance_id: str | None
    generation: int


@frozen(kw_only=True)
class Leaving:
    """One member of LeaveGroup; without a member id it is named by its instance id (KIP-345)."""

    member_id: str
    instance_id: str | None = None
    reason: str | None = None


@frozen(kw_only=True)
class DescribedMember:
    """A member as tools see it. metadata: empty unless the group is stable."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


@frozen(kw_only=True)
class Described:
    """A group as DescribeGroups has it. protocol_name: empty unless the group is stable."""

    state: str
    protocol_type: str
    protocol_name: str
    members: tuple[DescribedMember, ...]
