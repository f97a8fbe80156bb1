"""Member of a KIP-848 group: what it says, and when."""

from trio_kafka.clients.consumer.groups.member import ConsumerMember, GroupTerms, MemberState
from trio_kafka.clients.errors import RetriableError
from trio_kafka.errors import ErrorCode
from trio_kafka.peers.backoff import Backoff
from trio_kafka.protocol.messages.k68_consumer_group_heartbeat import (
    ConsumerGroupHeartbeatResponse,
)
from trio_kafka.protocol.structs.cluster import TopicPartitions
from trio_kafka.protocol.structs.groups import Assignment

TOPIC = bytes(15) + b"1"


def joined() -> ConsumerMember:
    member = ConsumerMember(terms=GroupTerms(group="g"), member_id="m", backoff=Backoff(0.1, 1.0))
    member.subscribe(("t",), None, 0.0)
    request = member.request(0.0)
    assert (request.member_epoch, request.subscribed_topic_names) == (0, ["t"])
    assert request.topic_partitions == []
    member.answered(answer(1, [0, 1]), 0.0)
    return member


def answer(epoch, partitions=None, code=0):
    assignment = None
    if partitions is not None:
        assignment = Assignment(topic_partitions=[TopicPartitions(TOPIC, partitions)])
    return ConsumerGroupHeartbeatResponse(
        error_code=code, member_epoch=epoch, heartbeat_interval_ms=5000, assignment=assignment
    )


def test_assignment_is_acknowledged_at_once_when_it_was_taken_over():
    member = joined()
    assert member.state is MemberState.RECONCILING
    assert member.request(1.0) is None

    member.acknowledge(member.target, 1.0)
    request = member.request(1.0)

    assert request.topic_partitions == [TopicPartitions(TOPIC, [0, 1])]
    assert request.subscribed_topic_names is None
    member.answered(answer(1), 1.0)
    assert member.due == 6.0


def test_after_a_lost_answer_everything_is_said_again():
    member = joined()
    member.acknowledge(member.target, 1.0)
    member.request(1.0)
    member.unanswered(RetriableError("lost"), 2.0)

    request = member.request(4.0)

    assert request.subscribed_topic_names == ["t"]
    assert request.topic_partitions == [TopicPartitions(TOPIC, [0, 1])]


def test_fenced_member_is_silent_until_its_partitions_are_let_go():
    member = joined()
    member.acknowledge(member.target, 1.0)
    member.request(1.0)
    member.answered(answer(0, code=ErrorCode.FENCED_MEMBER_EPOCH), 1.0)

    assert member.is_lost
    assert member.request(9.0) is None
    member.let_go(9.0)
    assert member.request(9.0).member_epoch == 0


def test_change_during_a_heartbeat_is_said_right_after_its_answer():
    member = joined()
    member.acknowledge(member.target, 1.0)
    member.request(1.0)
    member.subscribe(("u",), None, 1.5)
    member.answered(answer(1), 2.0)

    assert member.request(2.0).subscribed_topic_names == ["u"]


def test_heartbeat_that_ends_after_the_leave_makes_nothing_due():
    member = joined()
    member.acknowledge(member.target, 1.0)
    member.request(1.0)
    assert member.leave_request() is not None
    member.unanswered(RetriableError("lost"), 2.0)

    assert member.due == float("inf")
    assert member.state is MemberState.LEFT


def test_join_without_an_answer_waits_until_its_instance_id_is_let_go():
    terms = GroupTerms(group="g", instance_id="i")
    unreleased = answer(0, code=ErrorCode.UNRELEASED_INSTANCE_ID)
    member = ConsumerMember(terms=terms, member_id="m", backoff=Backoff(0.1, 1.0))
    member.subscribe(("t",), None, 0.0)
    member.request(0.0)
    member.unanswered(RetriableError("lost", sent=True), 1.0)
    member.request(2.0)
    member.answered(unreleased, 2.0)
    assert (member.failure, member.state) == (None, MemberState.JOINING)
    member.request(9.0)
    member.answered(answer(1, [0]), 9.0)
    member.rejoin(10.0)
    member.request(10.0)

    member.answered(unreleased, 10.0)

    assert member.failure.code is ErrorCode.UNRELEASED_INSTANCE_ID
