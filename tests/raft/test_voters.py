"""Voters of the quorum."""

import pytest

from tests.raft.kit import DIRECTORY_ID, NODE_1
from trio_kafka.model import NodeId
from trio_kafka.raft.voters import (
    NO_DIRECTORY,
    UnsupportedQuorumError,
    Voter,
    VoterEndpoint,
    VoterSet,
    voters_of,
    voters_record,
)

ALONE = VoterSet(1, (Voter(NODE_1, DIRECTORY_ID, (VoterEndpoint("C", "h", 1),)),))


def test_voter_set_is_decoded_from_its_record_unchanged() -> None:
    assert voters_of(voters_record(ALONE)) == ALONE.voters


def test_quorum_of_this_node_and_directory_alone_is_accepted() -> None:
    ALONE.check_alone(NODE_1, DIRECTORY_ID)
    VoterSet(0, (Voter(NODE_1),)).check_alone(NODE_1, DIRECTORY_ID)
    assert ALONE.directory_of(NodeId(2)) == NO_DIRECTORY


@pytest.mark.parametrize(
    ("voters", "reason"),
    [
        (
            VoterSet(1, (Voter(NODE_1, DIRECTORY_ID), Voter(NodeId(2)))),
            "only a quorum of this node",
        ),
        (VoterSet(1, (Voter(NodeId(2)),)), r"found the voters \[2\], this node is 1"),
        (VoterSet(1, (Voter(NODE_1),)), "another directory"),
    ],
)
def test_quorum_of_other_voters_or_of_another_directory_is_refused_with_the_reason(
    voters: VoterSet, reason: str
) -> None:
    with pytest.raises(UnsupportedQuorumError, match=reason):
        voters.check_alone(NODE_1, DIRECTORY_ID)
