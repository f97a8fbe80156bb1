"""Groups are deleted with all that is stored of them, or not at all."""

from functools import partial

import pytest

from tests.coordinators.groups.classic.kit import GROUP, ClassicKit
from trio_kafka.coordinators.groups.administration import delete_group
from trio_kafka.coordinators.shards.effects import CoordinatorRecord, Effects
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.protocol.stored.groups.classic import (
    GroupMetadataKey,
    OffsetCommitKey,
    OffsetCommitValue,
)


def delete(kit: ClassicKit, group_id: str = GROUP) -> None:
    assert kit.driver.ask(partial(delete_group, group_id)) is None


def commit(kit: ClassicKit, *partitions: int) -> None:
    value = OffsetCommitValue(5, -1, "", 1, -1)
    records = [CoordinatorRecord(OffsetCommitKey(GROUP, "t", n), value) for n in partitions]
    kit.driver.apply(lambda _, __: Effects(records=records))


def test_deleting_a_group_deletes_its_offsets() -> None:
    kit = ClassicKit()
    [member] = kit.stable(1)
    commit(kit, 0, 1)
    kit.leave(member)
    before = len(kit.driver.records)

    delete(kit)

    assert kit.state == "none"
    assert not kit.driver.machine.offsets.of_group(GROUP)
    written = kit.driver.records[before:]
    assert [record.key for record in written] == [
        OffsetCommitKey(GROUP, "t", 0),
        OffsetCommitKey(GROUP, "t", 1),
        GroupMetadataKey(GROUP),
    ]
    assert not any(record.value for record in written)
    assert kit.driver.reload().machine.by_id == {}


def test_group_with_members_cannot_be_deleted() -> None:
    kit = ClassicKit()
    kit.stable(1)

    with pytest.raises(KafkaError) as refused:
        delete(kit)

    assert refused.value.code is ErrorCode.NON_EMPTY_GROUP
    assert kit.state == "Stable"


def test_unknown_group_cannot_be_deleted() -> None:
    with pytest.raises(KafkaError) as refused:
        delete(ClassicKit())

    assert refused.value.code is ErrorCode.GROUP_ID_NOT_FOUND
    assert refused.value.message == "Group g not found."


def test_group_remains_when_its_tombstones_are_refused() -> None:
    kit = ClassicKit()
    kit.new_id()
    kit.driver.refuse = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)

    with pytest.raises(KafkaError):
        delete(kit)

    assert kit.state == "Empty"
