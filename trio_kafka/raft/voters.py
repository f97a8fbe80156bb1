"""Who votes, as control records of the metadata log and its snapshots say it (KIP-853).

With kraft.version 0 there are no such records: the voters are a setting of every node, without
directory ids.
"""

from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.model import NodeId
from trio_kafka.protocol.stored.control import (
    Endpoint,
    KRaftVersionFeature,
    VotersRecord,
    VoterWithEndpoints,
)

NO_DIRECTORY: Final = bytes(16)
SUPPORTED_KRAFT: Final = (0, 1)


class UnsupportedQuorumError(Exception):
    """A quorum that this software cannot be part of; the message says why."""


@frozen
class VoterEndpoint:
    """A listener of a controller."""

    name: str
    host: str
    port: int


@frozen
class Voter:
    """A node that votes, and the directory its vote belongs to."""

    id: NodeId
    directory_id: bytes = NO_DIRECTORY
    endpoints: tuple[VoterEndpoint, ...] = ()


@frozen
class VoterSet:
    """All voters; `kraft_version` 1: they are written in the log."""

    kraft_version: int
    voters: tuple[Voter, ...]

    @property
    def ids(self) -> tuple[NodeId, ...]:
        return tuple(voter.id for voter in self.voters)

    def directory_of(self, node: NodeId) -> bytes:
        """The directory id of a voter, zeros for others."""
        return next((v.directory_id for v in self.voters if v.id == node), NO_DIRECTORY)

    def check_alone(self, me: NodeId, directory_id: bytes) -> None:
        """Raises UnsupportedQuorumError unless `me` is the one voter, with this directory."""
        if self.ids != (me,):
            raise UnsupportedQuorumError(
                f"voters are {list(self.ids)}, this node is {me}: only a quorum of this one node "
                f"is supported"
            )
        voted = self.directory_of(me)
        if self.kraft_version and voted != directory_id:
            raise UnsupportedQuorumError(
                f"voter {me} has directory id {voted.hex()}, this directory {directory_id.hex()}: "
                f"its metadata log belongs to another directory"
            )


def voters_record(voters: VoterSet) -> VotersRecord:
    """The control record of a voter set."""
    return VotersRecord(
        version=0,
        voters=[
            VoterWithEndpoints(
                voter_id=voter.id,
                voter_directory_id=voter.directory_id,
                endpoints=[
                    Endpoint(name=e.name, host=e.host, port=e.port) for e in voter.endpoints
                ],
                k_raft_version_feature=KRaftVersionFeature(
                    min_supported_version=SUPPORTED_KRAFT[0],
                    max_supported_version=SUPPORTED_KRAFT[1],
                ),
            )
            for voter in voters.voters
        ],
    )


def voters_of(record: VotersRecord) -> tuple[Voter, ...]:
    """The voters in a control record."""
    return tuple(
        Voter(
            NodeId(voter.voter_id),
            voter.voter_directory_id,
            tuple(VoterEndpoint(e.name, e.host, e.port) for e in voter.endpoints),
        )
        for voter in record.voters
    )
