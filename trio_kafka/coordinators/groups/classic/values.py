"""Requests to a classic group and its answers: values, not messages.

None of them is ever changed. Those made for every request are not frozen, see `CoordinatorRecord`.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.errors import ErrorCode

NO_MEMBER_ID = ""  # a client that has not joined, or a member that an administrator removes
NO_GENERATION = -1
NO_REASON = "not provided"
_LONGEST_PREFIX: Final = 8000  # characters, of 4 bytes at most


class GroupProtocol(NamedTuple):
    """An assignment protocol that a member supports, with its metadata for the leader."""

    name: str
    metadata: bytes


@define
class Join:
    """JoinGroup. Times in ms.

    member_id: empty if the client has none yet. protocols: in the order of preference. fresh:
    random end of a new member's id; empty if the client has an id. asks_for_id: the client must
    join again with the id that it is given (KIP-394). skips_assignment: a leader can be told that
    it need not assign (KIP-814). may_describe: as in `consumer.values.Heartbeat`, for a member of a
    consumer group.
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
        """Id of a new member; it begins with a name that the operator knows. The name is cut: an
        id of more than 32,767 bytes fits into no record and into no answer to the leader.
        """
        prefix = self.client_id if self.instance_id is None else self.instance_id
        return f"{prefix[:_LONGEST_PREFIX]}-{self.fresh}"


@define
class JoinedMember:
    """A member, as the leader sees it."""

    member_id: str
    instance_id: str | None
    metadata: bytes


@define
class JoinAnswer:
    """Answer to JoinGroup. Errors that come with a member id are values too."""

    member_id: str
    error: ErrorCode = ErrorCode.NONE
    generation: int = NO_GENERATION
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str = ""
    members: tuple[JoinedMember, ...] = ()
    skip_assignment: bool = False


@define
class Sync:
    """SyncGroup. assignments: by member id, from the leader alone. None: not sent."""

    member_id: str
    generation: int
    instance_id: str | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignments: dict[str, bytes] = field(factory=dict)


@define
class SyncAnswer:
    """The answer to SyncGroup."""

    protocol_type: str | None
    protocol_name: str | None
    assignment: bytes


@define
class ClassicHeartbeat:
    """Heartbeat."""

    member_id: str
    instance_id: str | None
    generation: int


@frozen(kw_only=True)
class LeavingMember:
    """One member of LeaveGroup; without a member id it is named by its instance id (KIP-345)."""

    member_id: str
    instance_id: str | None = None
    reason: str | None = None


@frozen(kw_only=True)
class MemberDescription:
    """A member, for tools. metadata: empty unless the group is stable."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


@frozen(kw_only=True)
class GroupDescription:
    """A group, for tools. protocol_name: empty unless the group is stable."""

    state: str
    protocol_type: str
    protocol_name: str
    members: tuple[MemberDescription, ...]
