"""Subscriptions and assignments as bytes."""

import pytest

from trio_kafka.clients.consumer.groups.embedded import (
    read_assignment,
    read_subscription,
    write_assignment,
    write_subscription,
)
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.errors import DecodeError

OWNED = [TopicPartition("a", 0), TopicPartition("b", 2)]


def test_assignment_is_read_as_it_was_written_and_no_bytes_are_none():
    assert read_assignment(write_assignment(OWNED)) == frozenset(OWNED)
    assert read_assignment(b"") == frozenset()


@pytest.mark.parametrize(("owned", "before"), [(OWNED, ()), ((), OWNED)])
def test_leader_learns_what_a_member_owns_or_owned_before(owned, before):
    content = write_subscription("ab", owned=owned, before=before, generation=7, rack="r")

    member = read_subscription("m", None, content)

    assert (member.topics, member.owned, member.generation) == (frozenset("ab"), tuple(OWNED), 7)
    assert member.rack == "r"


@pytest.mark.parametrize("content", [b"x", b"\xff\xff", b"\0\1\0\0\0\5"])
def test_bytes_that_are_no_subscription_are_rejected(content):
    with pytest.raises(DecodeError):
        read_subscription("m", None, content)
