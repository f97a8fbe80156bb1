"""One member: what it says, and whether it is heard of."""

import pytest

from tests.coordinators.groups.classic.test_membership import member
from trio_kafka.coordinators.groups.classic.group import ClassicGroup
from trio_kafka.coordinators.groups.classic.values import GroupProtocol, JoinedMember


def test_member_has_separate_metadata_for_each_protocol() -> None:
    one = member("m", "a")
    one.protocols = (GroupProtocol("a", b"1"), GroupProtocol("b", b"2"))

    assert (one.metadata("a"), one.metadata("b")) == (b"1", b"2")
    group = ClassicGroup(group_id="g", since_ms=None, protocol_name="b")
    group.add(one)
    assert group.joined_members() == (JoinedMember("m", None, b"2"),)
    assert one.description("b").metadata == b"2"
    assert one.description(None).metadata == b""
    with pytest.raises(LookupError, match="m does not know the protocol c"):
        one.metadata("c")


def test_member_votes_for_its_first_protocol_among_the_candidates() -> None:
    assert member("m", "a", "b").vote({"b", "a"}) == "a"
    assert member("m", "a", "b").vote({"b"}) == "b"
    with pytest.raises(LookupError, match="m knows none"):
        member("m", "a").vote({"z"})


def test_member_with_a_waiting_request_counts_as_alive_unless_new() -> None:
    silent, joins, syncs, new = (member(name, "a") for name in "abcd")
    joins.join_ticket = syncs.sync_ticket = new.join_ticket = "ticket"
    new.is_new = True

    assert [one.is_heard for one in (silent, joins, syncs, new)] == [False, True, True, False]


def test_figures_of_a_member_name_the_request_that_waits() -> None:
    one = member("m", "a", "b", instance="i", timeout_ms=7)
    assert one.figures() == {
        "instance": "i",
        "client": "c",
        "host": "/h",
        "session_ms": 1,
        "rebalance_ms": 7,
        "protocols": "a, b",
        "assigned_bytes": 0,
        "waits": None,
    }
    one.sync_ticket, one.assignment = "ticket", b"123"
    assert (one.figures()["waits"], one.figures()["assigned_bytes"]) == ("sync", 3)
    one.join_ticket = "ticket"
    assert one.figures()["waits"] == "join"


def test_member_with_an_instance_id_is_static() -> None:
    assert member("m", "a", instance="i").is_static
    assert not member("m", "a").is_static
