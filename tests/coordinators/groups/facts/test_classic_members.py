"""Members of a classic group: their heartbeats, what they owe, and until when."""

import pytest

from tests.coordinators.groups.classic.kit import DELAY_MS, ClassicKit, subscription
from tests.coordinators.groups.facts.kit import facts_of, members_of
from trio_kafka.coordinators.groups.classic.joining import NEW_MEMBER_TIMEOUT_MS
from trio_kafka.introspect.facts.groups import MemberFacts

ASSIGNMENT = bytes.fromhex("0000 00000001 0001 74 00000002 00000001 00000000 ffffffff")
"""Partitions 1 and 0 of topic t."""


def test_member_of_a_stable_group_has_its_last_heartbeat_and_the_end_of_its_session() -> None:
    kit = ClassicKit()
    leader, follower = kit.stable()
    kit.wait(4000)
    kit.beat(leader)
    kit.wait(1000)

    members = members_of(kit.driver)

    assert (members[leader].heartbeat_s, members[leader].left_s) == (1.0, 9.0)
    assert (members[follower].heartbeat_s, members[follower].left_s) == (5.0, 5.0)
    assert [member.owes for member in members.values()] == ["", ""]
    assert members[leader].client_id == "client"
    assert members[leader].host == "/127.0.0.1"


def test_member_that_has_not_rejoined_owes_that_and_is_removed_at_the_end_of_the_wait() -> None:
    kit = ClassicKit()
    leader, follower = kit.stable(session_ms=300_000)
    kit.join(kit.new_id())
    kit.join(leader)
    kit.wait(51_000)

    members = members_of(kit.driver)

    assert members[follower].owes == "has not rejoined for 51 s"
    assert members[follower].left_s == 9.0  # of the rebalance timeout
    assert (members[leader].owes, members[leader].left_s) == ("", None)


def test_member_that_has_not_rejoined_is_removed_with_its_session_if_that_ends_first() -> None:
    kit = ClassicKit()
    _, follower = kit.stable()
    kit.join(kit.new_id())
    kit.wait(6000)

    assert members_of(kit.driver)[follower].left_s == 4.0


def test_static_member_that_has_not_rejoined_is_kept_until_its_session_ends() -> None:
    kit = ClassicKit()
    member = kit.stable_static("i", session_ms=300_000)
    kit.join(kit.new_id())

    static = members_of(kit.driver)[member]

    assert (static.owes, static.instance_id) == ("has not rejoined for 0 s", "i")
    assert static.left_s == 300.0


def test_leader_that_has_not_sent_the_assignment_owes_it() -> None:
    kit = ClassicKit()
    leader, follower = kit.completing(session_ms=300_000)
    kit.sync(follower)
    kit.wait(1000)
    waiting = members_of(kit.driver)

    kit.sync(leader, {})
    done = members_of(kit.driver)

    since = waiting[leader].owes.removeprefix("has not sent the assignment for ")
    assert since.removesuffix(" s").isdecimal()
    assert waiting[leader].left_s is not None
    assert waiting[leader].left_s < 60.0
    assert waiting[follower].owes == ""
    assert waiting[follower].left_s is None  # its request is pending
    assert [member.owes for member in done.values()] == ["", ""]


def test_member_that_has_not_asked_for_its_assignment_owes_that_until_it_syncs() -> None:
    kit = ClassicKit()
    leader, follower = kit.completing()
    kit.driver.hold = True
    kit.sync(leader, {})
    waiting = members_of(kit.driver)
    kit.driver.commit()
    stable = members_of(kit.driver)

    assert waiting[leader].owes == ""  # its record is not committed yet
    assert waiting[follower].owes.startswith("has not asked for its assignment for ")
    assert stable[follower].owes == "has not asked for its assignment"


def test_id_that_no_client_has_joined_with_holds_up_a_rebalance_as_a_member_does() -> None:
    kit = ClassicKit()
    kit.stable()
    fresh = "0" * 36
    pending = f"shop-{fresh}"
    kit.group.membership.pending.add(pending)
    before = members_of(kit.driver)[pending]

    kit.join(kit.new_id())
    after = members_of(kit.driver)[pending]

    assert (before.client_id, before.owes) == ("shop", "")
    assert after.owes == "has not joined with its new id"
    assert after.heartbeat_s is None


def test_new_member_counts_from_its_join_and_not_from_its_session() -> None:
    kit = ClassicKit()
    join_of_member = kit.join(kit.new_id())
    kit.wait(DELAY_MS - 1000)

    (member,) = facts_of(kit.driver).members

    assert join_of_member.waits
    assert member.heartbeat_s == 2.0
    assert member.left_s == NEW_MEMBER_TIMEOUT_MS / 1000 - 2.0


@pytest.mark.parametrize(
    ("assignment", "expected"),
    [(ASSIGNMENT, {"t": (0, 1)}), (b"", {}), (b"\x00", {}), (b"\xff\xff", {}), (b"x" * 9, {})],
)
def test_assignment_is_read_if_the_coordinator_understands_it(
    assignment: bytes, expected: dict[str, tuple[int, ...]]
) -> None:
    kit = ClassicKit()
    member = kit.stable_static("i")
    kit.group.membership[member].assignment = assignment

    assert members_of(kit.driver)[member].assigned == expected


def test_assignment_leaves_out_topics_that_the_reader_may_not_see() -> None:
    kit = ClassicKit()
    member = kit.stable_static("i")
    kit.group.membership[member].assignment = ASSIGNMENT

    facts = facts_of(kit.driver, may_describe=lambda topic: topic != "t")

    assert [each.assigned for each in facts.members] == [{}]


def test_assignment_of_another_protocol_type_is_not_read() -> None:
    kit = ClassicKit()
    protocols = (("range", subscription("t")),)
    member = kit.stable_static("i", protocol_type="connect", protocols=protocols)
    kit.group.membership[member].assignment = ASSIGNMENT

    assert members_of(kit.driver)[member].assigned == {}


def test_facts_of_many_members_are_computed_in_steps() -> None:
    kit = ClassicKit()
    members = kit.stable(100)

    facts: list[MemberFacts] = list(facts_of(kit.driver).members)

    assert [member.member_id for member in facts] == members
