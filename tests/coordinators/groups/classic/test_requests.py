"""Requests of the classic protocol to groups of every kind."""

from typing import Any

from attrs import define, field

from tests.coordinators.groups.classic.kit import GROUP, ClassicKit
from trio_kafka.coordinators.groups.classic.values import ClassicHeartbeat, Join, JoinAnswer, Sync
from trio_kafka.coordinators.shards.effects import Effects, Ticket
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
    """One of a type that has an adapter."""

    type: str = "consumer"


@define
class Adapter:
    """`requests` is what reached it."""

    requests: list[Any] = field(factory=list)
    group_type: str = "consumer"

    @property
    def classic_adapter(self) -> "Adapter":
        return self

    def _take(self, _group: Any, request: Any, ticket: Ticket, _now_ms: int) -> Effects:
        self.requests.append(request)
        return Effects().answer(ticket, request)

    join = sync = heartbeat = leave = _take


def kit_with(group: ClosedGroup) -> ClassicKit:
    kit = ClassicKit()
    kit.driver.machine.by_id[GROUP] = group  # type: ignore[assignment]
    return kit


def test_classic_requests_to_another_group_type_reach_its_adapter() -> None:
    kit, adapter = kit_with(OpenGroup()), Adapter()
    kit.driver.machine.submachines.append(adapter)  # type: ignore[arg-type]

    kit.join("m")
    kit.sync("m", generation=1)
    kit.beat("m", generation=1)
    kit.leave("m")

    assert [type(request) for request in adapter.requests] == [Join, Sync, ClassicHeartbeat, list]


def test_classic_requests_to_a_group_type_without_an_adapter_are_refused() -> None:
    kit = kit_with(ClosedGroup())

    assert kit.join().answer == JoinAnswer(
        member_id="", error=ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    )
    assert kit.sync("m", generation=1).code is ErrorCode.UNKNOWN_MEMBER_ID
    assert kit.beat("m", generation=1) is ErrorCode.UNKNOWN_MEMBER_ID
    error = kit.leave("m")
    assert isinstance(error, KafkaError)
    assert error.code is ErrorCode.UNKNOWN_MEMBER_ID


def test_sync_with_an_empty_group_of_another_type_is_refused() -> None:
    kit, adapter = kit_with(OpenGroup(is_empty=True)), Adapter()
    kit.driver.machine.submachines.append(adapter)  # type: ignore[arg-type]

    assert kit.sync("m", generation=1).code is ErrorCode.UNKNOWN_MEMBER_ID
    assert adapter.requests == []
