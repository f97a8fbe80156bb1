"""Member of a classic group: what errors mean for it."""

import pytest

from trio_kafka.clients.consumer.groups.assignors.named import named_assignors
from trio_kafka.clients.consumer.groups.assignors.values import MemberSubscription
from trio_kafka.clients.consumer.groups.classic_requests import ClassicMember, JoinState
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.messages.k13_leave_group import MemberIdentity
from trio_kafka.scheduling.chunked_work import whole


def member_of(**fields: object) -> ClassicMember:
    defaults = {"group": "g", "instance_id": None, "rack": None, "session_timeout_ms": 45000}
    return ClassicMember(
        **{**defaults, **fields},
        rebalance_timeout_ms=300_000,
        assignors=named_assignors(["range", "roundrobin", "sticky", "cooperative-sticky"]),
        member_id="m",
        generation=3,
        state=JoinState.STABLE,
    )


@pytest.mark.parametrize(
    ("protocol", "numbers"),
    [("range", [1]), ("roundrobin", [0]), ("sticky", [1]), ("cooperative-sticky", [1])],
)
def test_assignor_of_the_chosen_protocol_knows_the_racks_of_members_and_replicas(protocol, numbers):
    members = [
        MemberSubscription(member_id=name, topics=frozenset("t"), rack=rack)
        for name, rack in {"u": "a", "v": "b"}.items()
    ]
    racks = {TopicPartition("t", number): frozenset(rack) for number, rack in enumerate("ba")}

    assignments = whole(member_of().assign(protocol, {"t": 2}, members, racks))

    assert [at.partition for at in assignments["u"]] == numbers


@pytest.mark.parametrize(
    ("code", "state", "member_id", "is_lost"),
    [
        (ErrorCode.REBALANCE_IN_PROGRESS, JoinState.PREPARING, "m", False),
        (ErrorCode.ILLEGAL_GENERATION, JoinState.JOINING, "m", True),
        (ErrorCode.UNKNOWN_MEMBER_ID, JoinState.JOINING, "", True),
        (ErrorCode.FENCED_INSTANCE_ID, JoinState.FAILED, "m", True),
        (ErrorCode.NOT_COORDINATOR, JoinState.STABLE, "m", False),
    ],
)
def test_error_of_a_heartbeat_says_how_to_go_on(code, state, member_id, is_lost):
    member = member_of()
    member.rejected(code)
    assert (member.state, member.member_id, member.is_lost) == (state, member_id, is_lost)


def test_rebalance_during_a_hook_is_remembered():
    member = member_of()
    member.state = JoinState.ASSIGNED
    member.rejected(ErrorCode.REBALANCE_IN_PROGRESS)
    assert member.again


def test_static_member_does_not_leave():
    assert member_of(instance_id="i").leave_request("r") is None
    assert member_of().leave_request("r").members == [MemberIdentity("m", reason="r")]
