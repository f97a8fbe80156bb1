"""A join makes the group that it is for."""

import pytest
from attrs import define

from tests.coordinators.groups.classic.kit import DELAY_MS, GROUP, ClassicKit
from trio_kafka.coordinators.groups.classic.values import JoinAnswer
from trio_kafka.coordinators.shards.effects import CoordinatorRecord
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.protocol.stored.groups.classic import GroupMetadataKey, GroupMetadataValue
from trio_kafka.protocol.stored.groups.consumer import ConsumerGroupMetadataKey


@define
class OtherGroup:
    """One of another kind, as far as it matters here."""

    is_empty: bool
    type: str = "consumer"
    state: str = "Empty"

    def tombstones(self) -> list[CoordinatorRecord]:
        return [CoordinatorRecord(ConsumerGroupMetadataKey(GROUP))]


def test_join_is_answered_after_the_record_of_the_new_group_is_committed() -> None:
    kit = ClassicKit()
    kit.driver.hold = True

    request = kit.join()
    assert request.waits
    kit.driver.commit()

    assert request.code is ErrorCode.MEMBER_ID_REQUIRED
    [record] = kit.driver.records
    assert record.key == GroupMetadataKey(GROUP)
    assert record.value == GroupMetadataValue(
        protocol_type="",
        generation=0,
        protocol=None,
        leader=None,
        current_state_timestamp=1_000_000,
    )


def test_replaying_the_record_of_a_new_group_keeps_the_joining_member() -> None:
    kit = ClassicKit()

    request = kit.join(version=3)

    assert request.waits
    assert kit.state == "PreparingRebalance"
    assert len(kit.group.membership) == 1


@pytest.mark.parametrize("version", [3, 9])
def test_new_group_is_removed_when_its_record_is_refused(version: int) -> None:
    kit = ClassicKit()
    kit.driver.refuse = KafkaError(ErrorCode.NOT_COORDINATOR)

    request = kit.join(version=version)

    assert request.answer == JoinAnswer(member_id="", error=ErrorCode.NOT_COORDINATOR)
    assert kit.state == "none"
    assert not [key for key in kit.driver.timers if GROUP in key]
    kit.wait(2 * DELAY_MS)
    assert kit.driver.log == []


def test_join_replaces_an_empty_group_of_another_type() -> None:
    kit = ClassicKit()
    kit.driver.machine.by_id[GROUP] = OtherGroup(is_empty=True)  # type: ignore[assignment]

    request = kit.join(version=3)

    assert request.waits
    assert [type(record.key) for record in kit.driver.records] == [
        ConsumerGroupMetadataKey,
        GroupMetadataKey,
    ]
    assert kit.driver.records[0].value is None
    assert kit.group.type == "classic"


def test_group_of_another_type_is_restored_when_the_new_groups_record_is_refused() -> None:
    kit = ClassicKit()
    other = OtherGroup(is_empty=True)
    kit.driver.machine.by_id[GROUP] = other  # type: ignore[assignment]
    kit.driver.refuse = KafkaError(ErrorCode.NOT_COORDINATOR)

    kit.join()

    result: object = kit.driver.machine.by_id[GROUP]
    assert result is other


def test_join_with_an_unknown_member_id_creates_no_group() -> None:
    kit = ClassicKit()

    assert kit.join("ghost").code is ErrorCode.UNKNOWN_MEMBER_ID
    assert kit.driver.log == []


def test_joining_a_group_with_only_offsets_writes_no_record() -> None:
    kit = ClassicKit()
    kit.driver.machine.group_or_simple(GROUP)

    kit.join(version=3)

    assert kit.driver.log == []
    assert kit.state == "PreparingRebalance"
