"""A member: what a heartbeat and a record make of it."""

from typing import Any

import pytest

from trio_kafka.coordinators.groups.classic.values import GroupProtocol
from trio_kafka.coordinators.groups.consumer import records
from trio_kafka.coordinators.groups.consumer.member import (
    ClassicSide,
    Member,
    MemberState,
    partitions_of,
    same_partitions,
    since,
)
from trio_kafka.coordinators.groups.consumer.values import Heartbeat
from trio_kafka.coordinators.groups.stored_records import GROUP_RECORDS
from trio_kafka.model import TopicId
from trio_kafka.protocol.stored.groups.consumer import (
    ConsumerGroupCurrentMemberAssignmentValue,
    CurrentTopicPartitions,
)

A = TopicId(b"a" * 16)
FULL = Member(
    member_id="m",
    epoch=5,
    previous_epoch=4,
    state=MemberState.UNREVOKED_PARTITIONS,
    instance_id="i",
    rack_id="r",
    rebalance_timeout_ms=7,
    client_id="c",
    client_host="/h",
    topics=("a", "b"),
    regex="x.*",
    assignor="range",
    assigned={A: {0: 2, 3: 5}},
    revoking={A: {1: 4}},
    classic=ClassicSide(9, (GroupProtocol("range", b"\x00\x01"),)),
)
SAYS: dict[str, Any] = {"group_id": "g", "member_id": "m", "epoch": 5}


def after_heartbeat(member: Member, **said: Any) -> Member:
    fields = {"client_id": "c", "client_host": "/h"} | said
    return member.with_heartbeat(Heartbeat(**SAYS, **fields))


def same(first: Member, second: Member) -> bool:
    return all(getattr(first, name) == getattr(second, name) for name in Member.__slots__[:-1])


@pytest.mark.parametrize("member", [FULL, Member(member_id="m")])
def test_member_is_restored_completely_from_its_records(member: Member) -> None:
    (_, subscription), (_, assignment) = (
        (record.key, record.value)
        for record in (
            GROUP_RECORDS.decode(*GROUP_RECORDS.encode(record))
            for record in (records.subscription("g", member), records.assignment("g", member))
        )
    )

    again = Member(member_id="m").with_subscription(subscription).with_assignment(assignment)

    assert same(again, member)


def test_figures_of_a_member_show_its_state_and_subscription() -> None:
    assert FULL.figures() == {
        "epoch": 5,
        "state": "UNREVOKED_PARTITIONS",
        "instance": "i",
        "client": "c",
        "host": "/h",
        "rebalance_ms": 7,
        "assignor": "range",
        "topics": 2,
        "regex": "x.*",
        "partitions": 2,
        "revoking": 1,
        "classic": True,
    }


def test_heartbeat_without_news_keeps_the_same_member_object() -> None:
    member = after_heartbeat(FULL)  # it speaks KIP-848 from now on
    assert member.classic is None

    assert after_heartbeat(member) is member
    assert (
        after_heartbeat(
            member,
            instance_id="i",
            rack_id="r",
            rebalance_timeout_ms=7,
            topics=["b", "a", "b"],
            regex="x.*",
            assignor="range",
        )
        is member
    )


@pytest.mark.parametrize(
    ("said", "name", "value"),
    [
        ({"instance_id": "j"}, "instance_id", "j"),
        ({"rack_id": "s"}, "rack_id", "s"),
        ({"rebalance_timeout_ms": 8}, "rebalance_timeout_ms", 8),
        ({"topics": []}, "topics", ()),
        ({"topics": ["c", "b"]}, "topics", ("b", "c")),
        ({"regex": ""}, "regex", ""),
        ({"assignor": "uniform"}, "assignor", "uniform"),
        ({"client_id": "d"}, "client_id", "d"),
        ({"client_host": "/i"}, "client_host", "/i"),
    ],
)
def test_heartbeat_updates_changed_fields_of_the_member(
    said: dict[str, Any], name: str, value: object
) -> None:
    member = after_heartbeat(FULL)

    other = after_heartbeat(member, **said)

    assert getattr(other, name) == value
    assert not same(other, member)


def test_partitions_without_assignment_epochs_get_the_member_epoch() -> None:
    value = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=5,
        previous_member_epoch=4,
        state=0,
        assigned_partitions=[CurrentTopicPartitions(topic_id=A, partitions=[1, 2])],
        partitions_pending_revocation=[
            CurrentTopicPartitions(topic_id=A, partitions=[3], assignment_epochs=[1, 2])
        ],
    )

    member = Member(member_id="m").with_assignment(value)

    assert (member.assigned, member.revoking) == ({A: {1: 5, 2: 5}}, {A: {3: 5}})


def test_unknown_state_number_is_read_as_the_unknown_state() -> None:
    assert MemberState(99) is MemberState.UNKNOWN
    value = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=5,
        previous_member_epoch=4,
        state=99,
        assigned_partitions=[],
        partitions_pending_revocation=[],
    )
    assert Member(member_id="m").with_assignment(value).state is MemberState.UNKNOWN


def test_left_member_owns_nothing_and_a_renamed_member_starts_at_epoch_zero() -> None:
    gone, back = FULL.left(), FULL.renamed("n")

    assert (gone.epoch, gone.previous_epoch, gone.assigned, gone.revoking) == (-1, -1, {}, {})
    assert (back.member_id, back.epoch, back.previous_epoch) == ("n", 0, 0)
    assert back.assigned == FULL.assigned


def test_partitions_are_compared_without_their_epochs() -> None:
    assert same_partitions({A: {0: 1}}, {A: {0: 2}})
    assert not same_partitions({A: {0: 1}}, {A: {0: 1, 1: 1}})
    assert not same_partitions({A: {0: 1}}, {})
    assert partitions_of({A: {0: 1, 2: 3}}) == {A: {0, 2}}
    assert since({A: frozenset({2, 0})}, 7) == {A: {0: 7, 2: 7}}


def test_member_is_reconciled_when_stable_in_the_target_epoch() -> None:
    assert Member(member_id="m", epoch=3).is_reconciled(3)
    assert not Member(member_id="m", epoch=3).is_reconciled(4)
    assert not FULL.is_reconciled(5)
