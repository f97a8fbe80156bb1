"""Requests of the classic protocol to groups of every kind."""

from collections.abc import Sequence
from typing import Any

from attrs import define, field

from tests.coordinators.groups.classic.kit import GROUP, ClassicKit
from trio_kafka.coordinators.effects import Effects, Ticket
from trio_kafka.coordinators.groups.classic.values import Beating, Joined, Joining, Leaving, Syncing
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.errors import ErrorCode, KafkaError


@define
class ClosedGroup:
    """One that knows nothing of the classic protocol."""

    is_empty: bool = False
    type: str = "share"
    state: str = "Stable"
    generation: int = 1


@define
class OpenGroup(ClosedGroup):
    """One that does; `asked` is what reached it."""

    type: str = "consumer"
    asked: list[Any] = field(factory=list)

    def _take(self, asked: Any, ticket: Ticket) -> Effects:
        self.asked.append(asked)
        return Effects().answer(ticket, asked)

    def classic_join(self, _: Groups, joining: Joining, ticket: Ticket, now_ms: int) -> Effects:
        return self._take(joining, ticket)

    def classic_sync(self, _: Groups, syncing: Syncing, ticket: Ticket, now_ms: int) -> Effects:
        return self._take(syncing, ticket)

    def classic_heartbeat(
        self, _: Groups, beating: Beating, ticket: Ticket, now_ms: int
    ) -> Effects:
        return self._take(beating, ticket)

    def classic_leave(
        self, _: Groups, members: Sequence[Leaving], ticket: Ticket, now_ms: int
    ) -> Effects:
        return self._take(members, ticket)


def kit_with(group: ClosedGroup) -> ClassicKit:
    kit = ClassicKit()
    kit.driver.machine.by_id[GROUP] = group  # type: ignore[assignment]
    return kit


def test_a_group_that_has_a_door_is_asked_itself() -> None:
    group = OpenGroup()
    kit = kit_with(group)

    kit.join("m")
    kit.sync("m", generation=1)
    kit.beat("m", generation=1)
    kit.leave("m")

    assert [type(asked) for asked in group.asked] == [Joining, Syncing, Beating, list]


def test_a_group_that_has_none_knows_no_such_member() -> None:
    kit = kit_with(ClosedGroup())

    assert kit.join().answer == Joined(member_id="", error=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    assert kit.sync("m", generation=1).code is ErrorCode.UNKNOWN_MEMBER_ID
    assert kit.beat("m", generation=1) is ErrorCode.UNKNOWN_MEMBER_ID
    left = kit.leave("m")
    assert isinstance(left, KafkaError)
    assert left.code is ErrorCode.UNKNOWN_MEMBER_ID


def test_nobody_syncs_with_an_empty_group_of_another_kind() -> None:
    group = OpenGroup(is_empty=True)

    assert kit_with(group).sync("m", generation=1).code is ErrorCode.UNKNOWN_MEMBER_ID
    assert group.asked == []
