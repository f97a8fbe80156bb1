"""Who is in a group, and in what they agree."""

import pytest

from trio_kafka.coordinators.groups.classic.member import Member
from trio_kafka.coordinators.groups.classic.membership import Membership
from trio_kafka.coordinators.groups.classic.values import GroupProtocol


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
    found = Membership()
    for each in members:
        found.add(each)
    return found


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
    found = membership(member("m", "a", "b"), member("n", "b", "c"))

    assert found.agrees(names("c", "b"))
    assert not found.agrees(names("a", "c"))
    found.remove("n")
    assert found.agrees(names("a"))
    found.set_protocols(found["m"], (GroupProtocol("z", b""),))
    assert not found.agrees(names("a"))
    assert found.agrees(names("z"))


def test_all_have_joined_when_every_member_waits_and_no_id_is_pending() -> None:
    found = membership(member("m", "a"), member("n", "a"))
    seen = []
    found.set_join(found["m"], "ticket")
    seen.append(found.all_joined)
    found.set_join(found["n"], "other")
    seen.append(found.all_joined)
    found.pending.add("p")
    seen.append(found.all_joined)
    found.remove("p")

    assert seen == [False, True, False]
    assert found.set_join(found["n"], "again") == "other"
    assert (found.joined, found.all_joined) == (2, True)
    found.remove("n")
    assert (found.joined, found.all_joined) == (1, True)
    found.set_join(found["m"], None)
    assert (found.joined, found.all_joined) == (0, False)


def test_added_member_is_no_longer_pending() -> None:
    found = Membership()
    found.pending.add("m")

    found.add(member("m", "a"))

    assert found.pending == set()


def test_renamed_member_keeps_its_position_and_instance_id() -> None:
    found = membership(member("m", "a", instance="i"), member("n", "a"))

    renamed = found.rename(found["m"], "new")

    assert [each.member_id for each in found] == ["new", "n"]
    assert found["new"] is renamed
    assert found.of_instance("i") == "new"
    assert "m" not in found.by_id
    assert found.agrees(names("a"))


def test_removing_a_member_removes_its_instance_id() -> None:
    found = membership(member("m", "a", instance="i"))

    found.remove("m")

    assert found.of_instance("i") is None
    assert "m" not in found
    assert len(found) == 0


def test_duplicate_instance_id_belongs_to_the_later_member() -> None:
    found = membership(member("m", "a", instance="i"), member("n", "a", instance="i"))

    found.remove("m")

    assert found.of_instance("i") == "n"


def test_membership_has_the_longest_rebalance_timeout_of_its_members() -> None:
    assert Membership().rebalance_timeout_ms == 0
    assert (
        membership(member("m", timeout_ms=5), member("n", timeout_ms=3)).rebalance_timeout_ms == 5
    )
