"""A classic group as Kafka stores it."""

import pytest

from tests.coordinators.groups.classic.kit import BOTH, subscription
from trio_kafka.coordinators.groups.classic.group import ClassicGroup
from trio_kafka.coordinators.groups.classic.membership import Member
from trio_kafka.coordinators.groups.classic.records import (
    group_record,
    stored_group,
    subscribed_topics,
)
from trio_kafka.coordinators.groups.classic.states import ClassicState
from trio_kafka.coordinators.groups.classic.values import GroupProtocol
from trio_kafka.coordinators.groups.stored_records import GROUP_RECORDS
from trio_kafka.protocol.stored.groups.classic import GroupMetadataValue, MemberMetadata
from trio_kafka.scheduling.chunked_work import whole


def a_group(*metadata: bytes, protocol_type: str = "consumer") -> ClassicGroup:
    group = ClassicGroup(
        group_id="g",
        phase=ClassicState.STABLE,
        since_ms=77,
        generation=5,
        protocol_name="range",
    )
    for number, said in enumerate(metadata):
        group.add(
            Member(
                member_id=f"m{number}",
                instance_id=f"i{number}" if number % 2 else None,
                client_id=f"c{number}",
                client_host="/10.0.0.1",
                rebalance_timeout_ms=6000,
                session_timeout_ms=4000,
                protocol_type=protocol_type,
                protocols=(GroupProtocol("sticky", b""), GroupProtocol("range", said)),
            )
        )
    return group


def test_group_is_restored_from_its_record() -> None:
    group = a_group(subscription("a"), subscription("b", "c"))

    record = GROUP_RECORDS.decode(
        *GROUP_RECORDS.encode(whole(group_record(group, {"m0": b"zero", "m1": b"one"})))
    )
    again = stored_group("g", record.value)

    assert (again.phase, again.generation, again.since_ms) == (ClassicState.STABLE, 5, 77)
    assert (again.protocol_type, again.protocol_name, again.leader) == ("consumer", "range", "m0")
    assert again.topics == frozenset("abc")
    for before, after in zip(group.membership, again.membership, strict=True):
        assert after.protocols == (before.protocols[1],)
        assert after.assignment == {"m0": b"zero", "m1": b"one"}[after.member_id]
        for name in ("member_id", "instance_id", "client_id", "client_host"):
            assert getattr(after, name) == getattr(before, name)
        assert (after.rebalance_timeout_ms, after.session_timeout_ms) == (6000, 4000)
        assert not after.is_new
    assert again.membership.of_instance("i1") == "m1"


def test_empty_group_is_restored_as_empty() -> None:
    group = ClassicGroup(group_id="g", since_ms=99)

    record = GROUP_RECORDS.decode(*GROUP_RECORDS.encode(whole(group_record(group, {}))))
    again = stored_group("g", record.value)

    assert again.is_simple
    assert (again.generation, again.since_ms, again.leader) == (0, 99, None)


def test_group_record_has_the_version_that_kafka_writes() -> None:
    key, value = GROUP_RECORDS.encode(whole(group_record(a_group(subscription("a")), {})))

    assert key == b"\x00\x02\x00\x01g"
    assert value is not None
    assert value[:2] == b"\x00\x03"


def test_old_records_default_to_the_session_timeout_and_no_timestamp() -> None:
    value = GroupMetadataValue(
        protocol_type="consumer",
        generation=1,
        protocol="range",
        leader="m",
        members=[MemberMetadata(member_id="m", session_timeout=9000, subscription=b"")],
    )

    group = stored_group("g", value)

    assert group.membership["m"].rebalance_timeout_ms == 9000
    assert group.since_ms is None
    assert whole(group_record(group, {})).value.current_state_timestamp == -1


def test_record_with_members_but_no_protocol_is_decoded() -> None:
    value = GroupMetadataValue(
        protocol_type="consumer",
        generation=1,
        protocol=None,
        leader=None,
        members=[MemberMetadata(member_id="m", session_timeout=9000)],
    )

    group = stored_group("g", value)

    assert group.topics is None
    assert group.leader == "m"


@pytest.mark.parametrize(
    ("metadata", "topics"),
    [
        ([subscription("a"), subscription("b")], frozenset("ab")),
        ([subscription()], frozenset()),
        ([b"\x7f\xff" + subscription("a")[2:] + b"what is to come"], frozenset("a")),
        ([subscription("a"), b""], None),
        ([subscription("a"), b"\x00"], None),
        ([b"\xff\xff" + subscription("a")[2:]], None),
        ([b"\x00\x00\x7f\xff\xff\xff"], None),
        ([b"\x00\x00\x00\x00\x00\x01\x00\x09a"], None),
    ],
)
def test_subscribed_topics_are_known_only_from_readable_consumer_metadata(
    metadata: list[bytes], topics: frozenset[str] | None
) -> None:
    assert whole(subscribed_topics(a_group(*metadata))) == topics


def test_subscribed_topics_are_unknown_for_another_protocol_type() -> None:
    assert whole(subscribed_topics(a_group(subscription("a"), protocol_type="connect"))) is None
    none_left = a_group(subscription("a"))
    none_left.remove("m0")
    assert whole(subscribed_topics(none_left)) == frozenset()
    assert BOTH[0].metadata == subscription("t")
