"""What another kind of group offers to members that speak the classic protocol.

A consumer group has it, so that members can be upgraded one by one (KIP-848).
"""

from collections.abc import Sequence
from typing import Protocol

from trio_kafka.coordinators.effects import Effects, Ticket
from trio_kafka.coordinators.groups.classic.values import Beating, Joining, Leaving, Syncing
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.steps import Steps


class ClassicDoor(Protocol):
    """Requests of the classic protocol, each answered as a classic group would: see `joining`,
    `syncing`, `session` and `leaving` for what is answered and raised.
    """

    def classic_join(
        self, groups: Groups, joining: Joining, ticket: Ticket, now_ms: int
    ) -> Effects | Steps[Effects]: ...

    def classic_sync(
        self, groups: Groups, syncing: Syncing, ticket: Ticket, now_ms: int
    ) -> Effects | Steps[Effects]: ...

    def classic_heartbeat(
        self, groups: Groups, beating: Beating, ticket: Ticket, now_ms: int
    ) -> Effects | Steps[Effects]: ...

    def classic_leave(
        self, groups: Groups, members: Sequence[Leaving], ticket: Ticket, now_ms: int
    ) -> Effects | Steps[Effects]: ...
