"""Interface of a group's protocol to a consumer, the same for both protocols."""

from typing import Protocol

from trio_kafka.clients.consumer.groups.offsets import MemberIdentity
from trio_kafka.introspect.tree import Figures


class Membership(Protocol):
    """Membership in a group. `run` is its task; `turn` is awaited by the task that reads."""

    @property
    def needs_turn(self) -> bool:
        """True if partitions must be revoked or assigned before the next read."""

    @property
    def identity(self) -> MemberIdentity | None:
        """How the member signs its commits at the moment; None: it may not commit.

        A coordinator without members accepts the commit of a member that has left.
        """

    @property
    def is_joining(self) -> bool:
        """True while commits must wait for the end of a rebalance, which the next read brings."""

    def subscribe(self, names: tuple[str, ...] | None, pattern: str | None) -> None:
        """Join the group, or change the subscription: names or a pattern."""

    async def run(self) -> None:
        """Keep the membership until cancelled."""

    async def turn(self) -> None:
        """Revoke and assign. Raises the error that ended the membership, and those of hooks."""

    async def expire(self) -> None:
        """Leave: the user's loop has not come back in time. The next turn joins again."""

    async def leave(self) -> None:
        """Leave the group for good. The caller sets a deadline."""

    def figures(self) -> Figures:
        """Return the figures of the membership for the tree."""
