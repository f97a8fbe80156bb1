"""Members of a group, and what they agree on."""

import pytest

from trio_kafka.coordinators.groups.classic.group import ClassicGroup
from trio_kafka.coordinators.groups.classic.membership import Member, Membership
from trio_kafka.coordinators.groups.classic.values import GroupProtocol, JoinedMember


def names(*protocols: str) -> tuple[GroupProtocol, ...]:
    return tuple(GroupProtocol(each, b"") for each in protocols)


def member(name: str, *protocols: str, instance: str | None = None, timeout_ms: int = 1) -> Member:
    return Member(
        member_id=name,
        instance_id=instance,
        client_id="c",
        client_host="/h",
        rebalance_timeout_ms=timeout_ms,
        session_timeout_ms=1,
        protocol_type="consumer",
        protocols=names(*protocols),
    )


def membership(*members: Member) -> Membership:
    result = Membership()
    for each in members:
        result.add(each)
    return result


@pytest.mark.parametrize(
    ("likes", "chosen"),
    [
        ([["a"]], "a"),
        ([["a", "b"], ["b", "a"], ["b", "a"]], "b"),
        ([["a", "b"], ["b"]], "b"),
        ([["x", "a", "b"], ["b", "a"], ["a", "y", "b"]], "a"),
        ([["a", "b"], ["b", "a"]], "a"),
    ],
)
def test_protocol_with_the_most_votes_among_common_protocols_is_elected(
    likes: list[list[str]], chosen: str
) -> None:
    members = [member(f"m{n}", *protocols) for n, protocols in enumerate(likes)]

    assert membership(*members).elected_protocol() == chosen


def test_membership_agrees_only_on_protocols_that_every_member_supports() -> None:
    result = membership(member("m", "a", "b"), member("n", "b", "c"))

    assert result.agrees(names("c", "b"))
    assert not result.agrees(names("a", "c"))
    result.remove("n")
    assert result.agrees(names("a"))
    result.set_protocols(result["m"], (GroupProtocol("z", b""),))
    assert not result.agrees(names("a"))
    assert result.agrees(names("z"))


def test_all_have_joined_when_every_member_waits_and_no_id_is_pending() -> None:
    result = membership(member("m", "a"), member("n", "a"))
    seen = []
    result.set_join(result["m"], "ticket")
    seen.append(result.all_joined)
    result.set_join(result["n"], "other")
    seen.append(result.all_joined)
    result.pending.add("p")
    seen.append(result.all_joined)
    result.remove("p")

    assert seen == [False, True, False]
    assert result.set_join(result["n"], "again") == "other"
    assert (result.joined, result.all_joined) == (2, True)
    result.remove("n")
    assert (result.joined, result.all_joined) == (1, True)
    result.set_join(result["m"], None)
    assert (result.joined, result.all_joined) == (0, False)


def test_added_member_is_no_longer_pending() -> None:
    result = Membership()
    result.pending.add("m")

    result.add(member("m", "a"))

    assert result.pending == set()


def test_renamed_member_keeps_its_position_and_instance_id() -> None:
    result = membership(member("m", "a", instance="i"), member("n", "a"))

    result["m"].is_new = True

    renamed = result.rename(result["m"], "new")

    assert not renamed.is_new
    assert [each.member_id for each in result] == ["new", "n"]
    assert result["new"] is renamed
    assert result.of_instance("i") == "new"
    assert "m" not in result.by_id
    assert result.agrees(names("a"))


def test_removing_a_member_removes_its_instance_id() -> None:
    result = membership(member("m", "a", instance="i"))

    result.remove("m")

    assert result.of_instance("i") is None
    assert "m" not in result
    assert len(result) == 0


def test_duplicate_instance_id_belongs_to_the_later_member() -> None:
    result = membership(member("m", "a", instance="i"), member("n", "a", instance="i"))

    result.remove("m")

    assert result.of_instance("i") == "n"


def test_membership_has_the_longest_rebalance_timeout_of_its_members() -> None:
    assert Membership().rebalance_timeout_ms == 0
    assert (
        membership(member("m", timeout_ms=5), member("n", timeout_ms=3)).rebalance_timeout_ms == 5
    )


def test_member_has_separate_metadata_for_each_protocol() -> None:
    joined = member("m", "a")
    joined.protocols = (GroupProtocol("a", b"1"), GroupProtocol("b", b"2"))

    assert (joined.metadata("a"), joined.metadata("b")) == (b"1", b"2")
    group = ClassicGroup(group_id="g", since_ms=None, protocol_name="b")
    group.add(joined)
    assert group.joined_members() == (JoinedMember("m", None, b"2"),)
    assert joined.description("b").metadata == b"2"
    assert joined.description(None).metadata == b""
    with pytest.raises(LookupError, match="m does not know the protocol c"):
        joined.metadata("c")


def test_member_votes_for_its_first_protocol_among_the_candidates() -> None:
    assert member("m", "a", "b").vote({"b", "a"}) == "a"
    assert member("m", "a", "b").vote({"b"}) == "b"
    with pytest.raises(LookupError, match="m knows none"):
        member("m", "a").vote({"z"})


def test_member_with_a_waiting_request_counts_as_alive_unless_new() -> None:
    silent, joins, syncs, new = (member(name, "a") for name in "abcd")
    joins.join_ticket = syncs.sync_ticket = new.join_ticket = "ticket"
    new.is_new = True

    alive = [group_member.is_heard for group_member in (silent, joins, syncs, new)]
    assert alive == [False, True, True, False]


def test_figures_of_a_member_name_the_request_that_waits() -> None:
    joined = member("m", "a", "b", instance="i", timeout_ms=7)
    assert joined.figures() == {
        "instance": "i",
        "client": "c",
        "host": "/h",
        "session_ms": 1,
        "rebalance_ms": 7,
        "protocols": "a, b",
        "assigned_bytes": 0,
        "waits": None,
    }
    joined.sync_ticket, joined.assignment = "ticket", b"123"
    assert (joined.figures()["waits"], joined.figures()["assigned_bytes"]) == ("sync", 3)
    joined.join_ticket = "ticket"
    assert joined.figures()["waits"] == "join"


def test_member_with_an_instance_id_is_static() -> None:
    assert member("m", "a", instance="i").is_static
    assert not member("m", "a").is_static
