"""Records as Kafka stores them, byte for byte."""

from trio_kafka.coordinators.groups.classic.values import GroupProtocol
from trio_kafka.coordinators.groups.consumer import records
from trio_kafka.coordinators.groups.consumer.member import ClassicSide, Member, MemberState
from trio_kafka.coordinators.groups.stored_records import GROUP_RECORDS
from trio_kafka.model import TopicId

A, B = TopicId(b"a" * 16), TopicId(b"b" * 16)
MEMBER = Member(
    member_id="m",
    epoch=3,
    previous_epoch=2,
    state=MemberState.UNREVOKED_PARTITIONS,
    client_id="c",
    client_host="/h",
    topics=("a", "b"),
    rebalance_timeout_ms=5,
    assigned={B: {1: 3, 0: 2}, A: {4: 1}},
    revoking={A: {5: 1}},
)


def value_of(record: records.CoordinatorRecord) -> bytes | None:
    return GROUP_RECORDS.encode(record)[1]


def test_group_epoch_record_has_the_metadata_hash_as_a_tagged_field() -> None:
    key, value = GROUP_RECORDS.encode(records.group_epoch("g", 7, -2))

    assert key == b"\x00\x03\x00\x01g"
    assert value == b"\x00\x00\x00\x00\x00\x07\x01\x00\x08" + b"\xff" * 7 + b"\xfe"
    assert value_of(records.group_epoch("g", 7, 0)) == b"\x00\x00\x00\x00\x00\x07\x00"


def test_subscription_record_has_sorted_topics_and_an_empty_expression() -> None:
    key, value = GROUP_RECORDS.encode(records.subscription("g", MEMBER))

    assert key == b"\x00\x05\x00\x01g\x00\x01m"
    assert value == (
        b"\x00\x00\x00\x00\x02c\x03/h\x03\x02a\x02b\x01\x00\x00\x00\x05\x00"
        b"\x01\x00\x01\x00"  # that it has no classic side is said
    )


def test_subscription_record_of_a_classic_member_has_protocols_as_a_tagged_field() -> None:
    side = ClassicSide(9, (GroupProtocol("range", b"xy"),))
    value = value_of(records.subscription("g", Member(member_id="m", classic=side)))

    assert value is not None
    assert value.endswith(b"\x01\x00\x11\x01\x00\x00\x00\x09\x02\x06range\x03xy\x00\x00")


def test_assignment_record_has_sorted_partitions_with_their_epochs() -> None:
    record = records.assignment("g", MEMBER)

    assert GROUP_RECORDS.encode(record)[0] == b"\x00\x08\x00\x01g\x00\x01m"
    assert (record.value.member_epoch, record.value.previous_member_epoch) == (3, 2)
    assert record.value.state == 1
    assert [
        (partition.topic_id, partition.partitions, partition.assignment_epochs)
        for partition in record.value.assigned_partitions
    ] == [(A, [4], [1]), (B, [0, 1], [2, 3])]
    assert record.value.partitions_pending_revocation[0].partitions == [5]


def test_target_record_has_sorted_partitions() -> None:
    record = records.target("g", "m", {B: {2, 0}, A: {1}})

    assert GROUP_RECORDS.encode(record)[0] == b"\x00\x07\x00\x01g\x00\x01m"
    assert [
        (partition.topic_id, partition.partitions) for partition in record.value.topic_partitions
    ] == [
        (A, [1]),
        (B, [0, 2]),
    ]
    assert GROUP_RECORDS.encode(records.target_epoch("g", 4, 0)) == (
        b"\x00\x06\x00\x01g",
        b"\x00\x00\x00\x00\x00\x04\x00",
    )


def test_expression_record_has_sorted_topics() -> None:
    key, value = GROUP_RECORDS.encode(records.expression("g", "x", {"b", "a"}, 5, 6))

    assert key == b"\x00\x10\x00\x01g\x00\x01x"
    assert value == b"\x00\x00\x03\x02a\x02b" + (5).to_bytes(8) + (6).to_bytes(8) + b"\x00"
    assert value_of(records.no_expression("g", "x")) is None


def test_tombstones_of_a_group_are_in_the_order_that_replay_needs() -> None:
    ended = records.no_group("g", ["m", "n"], ["x"])

    group_types = [GROUP_RECORDS.encode(record)[0][1] for record in ended]
    assert group_types == [8, 8, 7, 7, 6, 5, 5, 16, 4, 3]
    assert all(record.value is None for record in ended)
    no_member = records.no_member("g", "m")
    assert [GROUP_RECORDS.encode(record)[0][1] for record in no_member] == [8, 7, 5]


def test_migrated_group_is_written_with_all_its_records() -> None:
    written = records.whole_group("g", {MEMBER: {A: {1}}}, 3, 9)

    assert [GROUP_RECORDS.encode(record)[0][1] for record in written] == [5, 3, 7, 6, 8]
