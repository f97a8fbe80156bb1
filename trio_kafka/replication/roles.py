"""Role of a replica, one value: leading, following, offline or deleted.

A role has what only it needs: the ends of followers are known to a leader, and to no other replica.
`log` is the log in each of them, None where there is none.
"""

from typing import ClassVar, TypeAlias

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import LogDirError
from trio_kafka.log.log import Log
from trio_kafka.model import NodeId


@define(eq=False)
class Leading:
    """Replica that leads in one leader epoch.

    epoch_start: end of the log when the epoch began here.
    follower_ends, follower_starts: end and start of the log of each follower that has fetched.
    """

    log: Log
    epoch_start: int
    follower_ends: dict[NodeId, int] = field(factory=dict, init=False)
    follower_starts: dict[NodeId, int] = field(factory=dict, init=False)


@define(eq=False)
class Following:
    """Replica of a partition that another broker leads."""

    log: Log


@define(eq=False)
class Offline:
    """Replica whose log cannot be used. log: the one that failed; None: it was never opened."""

    reason: LogDirError
    log: Log | None = None


@define(eq=False)
class Deleted:
    """Replica that has left this broker. It gets no other role."""

    log: ClassVar[None] = None


Role: TypeAlias = Leading | Following | Offline | Deleted
