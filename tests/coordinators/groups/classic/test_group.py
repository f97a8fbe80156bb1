"""A classic group's own questions: who may commit, what expires, what whoever looks is told."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.coordinators.groups.classic.kit import (
    GROUP,
    RANGE,
    SESSION_MS,
    ClassicKit,
    subscription,
)
from trio_kafka.coordinators.groups.classic.group import ClassicGroup
from trio_kafka.coordinators.groups.classic.transition import end_group
from trio_kafka.coordinators.groups.classic.values import (
    GroupDescription,
    GroupProtocol,
    MemberDescription,
)
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.protocol.stored.groups.classic import GroupMetadataKey


def commits(kit: ClassicKit, **how: Any) -> ErrorCode:
    """Error code of a commit; a valid one has the effects of a sign of life."""
    fields = {"member_id": "", "instance_id": None, "epoch": -1, "version": 9, "topics": ()}
    try:
        effects = kit.group.validate_commit(**{**fields, **how})
    except KafkaError as error:
        return error.code
    kit.driver.apply(lambda _, __: effects)
    return ErrorCode.NONE


def ended(kit: ClassicKit) -> ClassicGroup:
    kit.driver.apply(lambda _, now_ms: end_group(kit.group, ErrorCode.NOT_COORDINATOR, now_ms))
    return kit.group


def code_of(call: Any, *args: Any) -> ErrorCode:
    try:
        call(*args)
    except KafkaError as error:
        return error.code
    return ErrorCode.NONE


def test_members_commit_offsets_only_in_the_current_generation() -> None:
    kit = ClassicKit()
    leader, follower = kit.stable()

    assert commits(kit, member_id=follower, epoch=1) is ErrorCode.NONE
    kit.join(leader)  # the generation before may still commit
    assert commits(kit, member_id=follower, epoch=1) is ErrorCode.NONE
    kit.join(follower)
    assert commits(kit, member_id=follower, epoch=2) is ErrorCode.REBALANCE_IN_PROGRESS
    assert commits(kit, member_id=follower, epoch=1) is ErrorCode.ILLEGAL_GENERATION


def test_offset_commit_renews_the_session_of_the_member() -> None:
    kit = ClassicKit()
    [member] = kit.stable(1)

    for _ in range(3):
        kit.wait(SESSION_MS - 1)
        commits(kit, member_id=member, epoch=1)

    assert kit.state == "Stable"


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ({}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "ghost", "epoch": 1}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"epoch": 1}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"epoch": 1, "instance_id": "i"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"instance_id": "i"}, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_commit_to_a_group_with_members_is_refused_for_unknown_members(
    how: Mapping[str, Any], code: ErrorCode
) -> None:
    kit = ClassicKit()
    kit.stable(1)

    assert commits(kit, **how) is code


def test_commit_of_a_member_without_its_generation_is_refused() -> None:
    kit = ClassicKit()
    [member] = kit.stable(1)

    assert commits(kit, member_id=member) is ErrorCode.ILLEGAL_GENERATION


def test_empty_group_accepts_commits_without_a_generation() -> None:
    kit = ClassicKit()
    kit.new_id()

    assert commits(kit) is ErrorCode.NONE
    assert commits(kit, member_id="ghost") is ErrorCode.NONE
    assert commits(kit, member_id="ghost", epoch=0) is ErrorCode.UNKNOWN_MEMBER_ID


def test_commit_under_the_old_id_of_a_static_member_is_fenced() -> None:
    kit = ClassicKit()
    old = kit.stable_static("i")
    kit.join(instance="i")

    assert commits(kit, member_id=old, instance_id="i", epoch=1) is ErrorCode.FENCED_INSTANCE_ID


def test_dead_group_refuses_commits_fetches_and_deletions() -> None:
    kit = ClassicKit()
    kit.stable(1)
    group = ended(kit)

    assert commits(kit) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert code_of(group.validate_fetch, None, -1) is ErrorCode.GROUP_ID_NOT_FOUND
    assert code_of(group.validate_offset_delete) is ErrorCode.GROUP_ID_NOT_FOUND
    assert code_of(group.validate_delete) is ErrorCode.GROUP_ID_NOT_FOUND


def test_group_with_members_allows_fetches_and_offset_deletion_but_not_its_deletion() -> None:
    kit = ClassicKit()
    kit.stable(1)

    assert code_of(kit.group.validate_fetch, "anybody", 7) is ErrorCode.NONE
    assert code_of(kit.group.validate_offset_delete) is ErrorCode.NONE  # of topics not read
    assert code_of(kit.group.validate_delete) is ErrorCode.NON_EMPTY_GROUP


def test_offsets_are_not_deleted_while_members_of_another_protocol_type_exist() -> None:
    kit = ClassicKit()
    [member] = kit.stable(1, protocol_type="connect")

    assert code_of(kit.group.validate_offset_delete) is ErrorCode.NON_EMPTY_GROUP
    kit.leave(member)
    assert code_of(kit.group.validate_offset_delete) is ErrorCode.NONE
    assert code_of(kit.group.validate_delete) is ErrorCode.NONE


def test_group_is_subscribed_to_the_topics_of_its_members() -> None:
    kit = ClassicKit()
    kit.stable(1)

    assert kit.group.subscribed("t")
    assert not kit.group.subscribed("u")


def test_group_with_unreadable_subscriptions_counts_as_subscribed_to_every_topic() -> None:
    kit = ClassicKit()
    kit.stable(1, protocols=(GroupProtocol("own", b"?"),))

    assert kit.group.subscribed("u")
    assert kit.group.offsets_kept_since(5) is None


def test_group_of_another_protocol_type_has_no_known_subscriptions() -> None:
    kit = ClassicKit()
    kit.stable(1, protocol_type="connect")

    assert not kit.group.subscribed("t")


def test_retention_of_offsets_begins_when_the_last_member_leaves() -> None:
    kit = ClassicKit()
    kit.driver.machine.group_or_simple(GROUP)
    assert kit.group.offsets_kept_since(5) == 5
    [member] = kit.completing(1)
    assert kit.group.offsets_kept_since(5) is None
    kit.settle([member])
    assert kit.group.offsets_kept_since(5) == 5  # of topics that nobody reads any more

    kit.wait(1000)
    kit.leave(member)

    assert kit.group.offsets_kept_since(5) == kit.driver.now_ms


def test_retention_begins_at_the_commit_for_groups_stored_without_a_timestamp() -> None:
    group = ClassicGroup(group_id="g", since_ms=None, protocol_type="consumer")

    assert group.offsets_kept_since(5) == 5


def test_a_tombstone_has_the_groups_key() -> None:
    [record] = ClassicGroup(group_id="g", since_ms=None).tombstones()

    assert (record.key, record.value) == (GroupMetadataKey("g"), None)


def test_member_metadata_and_assignments_are_described_only_in_a_stable_group() -> None:
    kit = ClassicKit()
    [member] = kit.completing(1)
    before = kit.group.description()
    kit.settle([member])

    def seen(metadata: bytes, assignment: bytes) -> tuple[MemberDescription, ...]:
        description = MemberDescription(
            member_id=member,
            instance_id=None,
            client_id="client",
            client_host="/127.0.0.1",
            metadata=metadata,
            assignment=assignment,
        )
        return (description,)

    assert before == GroupDescription(
        state="CompletingRebalance",
        protocol_type="consumer",
        protocol_name="",
        members=seen(b"", b""),
    )
    assert kit.group.description() == GroupDescription(
        state="Stable",
        protocol_type="consumer",
        protocol_name="range",
        members=seen(subscription("t"), member.encode()),
    )


def test_inspection_shows_members_leader_and_causes_of_rebalances() -> None:
    kit = ClassicKit()
    leader, follower = kit.stable()
    joined_ms = kit.driver.now_ms
    kit.join(leader)

    result = kit.group.describe()

    assert result["state"] == "PreparingRebalance"
    assert (result["members"], result["joined"], result["leader"]) == (2, 1, leader)
    assert [member.member_id for member in kit.group.members()] == [leader, follower]
    last = f"{joined_ms}, after 1: leader {leader} joins again (not provided)"
    assert result["rebalance 1"] == last
    assert str(result["rebalance 2"]).endswith(f", after 0: new member {leader} (not provided)")
    assert RANGE[0].name == result["protocol"]


def test_transactional_commits_check_member_and_generation_only_if_they_are_given() -> None:
    kit = ClassicKit()
    leader, follower = kit.stable()

    def code(member_id: str, epoch: int, instance_id: str | None = None) -> ErrorCode:
        return code_of(kit.group.validate_transactional_commit, member_id, instance_id, epoch, ())

    assert code("", -1) is ErrorCode.NONE  # clients of older versions
    assert code(follower, 1) is ErrorCode.NONE
    assert code(follower, 0) is ErrorCode.ILLEGAL_GENERATION
    assert code(follower, -1) is ErrorCode.ILLEGAL_GENERATION
    assert code("other", 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert code("", -1, "static") is ErrorCode.UNKNOWN_MEMBER_ID
    kit.join(leader)
    kit.join(follower)
    assert code(follower, 2) is ErrorCode.NONE  # also while the assignment is not known


def test_empty_group_accepts_transactional_commits_of_any_client() -> None:
    kit = ClassicKit()
    kit.stable()
    group = ClassicGroup(group_id=GROUP, since_ms=None)

    assert code_of(group.validate_transactional_commit, "m", None, -1, ()) is ErrorCode.NONE
    assert (
        code_of(group.validate_transactional_commit, "m", None, 1, ())
        is ErrorCode.UNKNOWN_MEMBER_ID
    )
    dead = ended(kit)
    assert (
        code_of(dead.validate_transactional_commit, "", None, -1, ())
        is ErrorCode.COORDINATOR_NOT_AVAILABLE
    )
