"""One member: what it says, and whether it is heard of."""

import pytest

from tests.coordinators.groups.classic.test_membership import member
from trio_kafka.coordinators.groups.classic.values import GroupProtocol, JoinedMember


def test_a_member_says_something_else_for_each_protocol() -> None:
    one = member("m", "a")
    one.protocols = (GroupProtocol("a", b"1"), GroupProtocol("b", b"2"))

    assert (one.metadata("a"), one.metadata("b")) == (b"1", b"2")
    assert one.told("b") == JoinedMember("m", None, b"2")
    assert one.described("b").metadata == b"2"
    assert one.described(None).metadata == b""
    with pytest.raises(LookupError, match="m does not know the protocol c"):
        one.metadata("c")


def test_a_member_votes_for_what_it_likes_best() -> None:
    assert member("m", "a", "b").vote({"b", "a"}) == "a"
    assert member("m", "a", "b").vote({"b"}) == "b"
    with pytest.raises(LookupError, match="m knows none"):
        member("m", "a").vote({"z"})


def test_one_that_waits_is_heard_unless_it_is_new() -> None:
    silent, joins, syncs, new = (member(name, "a") for name in "abcd")
    joins.joining = syncs.syncing = new.joining = "ticket"
    new.is_new = True

    assert [one.is_heard for one in (silent, joins, syncs, new)] == [False, True, True, False]


def test_whoever_looks_sees_what_a_member_waits_for() -> None:
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
    one.syncing, one.assignment = "ticket", b"123"
    assert (one.figures()["waits"], one.figures()["assigned_bytes"]) == ("sync", 3)
    one.joining = "ticket"
    assert one.figures()["waits"] == "join"


def test_static_is_who_has_an_instance() -> None:
    assert member("m", "a", instance="i").is_static
    assert not member("m", "a").is_static
