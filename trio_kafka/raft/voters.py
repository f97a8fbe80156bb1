"""Voters of the quorum, and their control records in the metadata log and its snapshots (KIP-853).

With kraft.version 0 such records do not exist: the voters are a setting of every node, without
directory ids.
"""

from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.model import NodeId
from trio_kafka.protocol.stored.control import VotersRecord, VoterWithEndpoints
from trio_kafka.protocol.structs.cluster import KRaftVersionFeature, VoterListener

NO_DIRECTORY: Final = bytes(16)
SUPPORTED_KRAFT: Final = (0, 1)


class UnsupportedQuorumError(Exception):
    """Quorum that this software cannot join; the message says why."""


@frozen
class VoterEndpoint:
    """Listener of a controller."""

    name: str
    host: str
    port: int


@frozen
class Voter:
    """Voting node and the directory that its vote belongs to."""

    id: NodeId
    directory_id: bytes = NO_DIRECTORY
    endpoints: tuple[VoterEndpoint, ...] = ()


@frozen
class VoterSet:
    """All voters. kraft_version 1: they are recorded in the log."""

    kraft_version: int
    voters: tuple[Voter, ...]

    @property
    def ids(self) -> tuple[NodeId, ...]:
        return tuple(voter.id for voter in self.voters)

    def directory_of(self, node: NodeId) -> bytes:
        """Return the directory id of a voter, zeros for other nodes."""
        return next((v.directory_id for v in self.voters if v.id == node), NO_DIRECTORY)

    def check_alone(self, me: NodeId, directory_id: bytes) -> None:
        """Raise UnsupportedQuorumError unless `me` is the only voter, with this directory."""
        if self.ids != (me,):
            raise UnsupportedQuorumError(
                f"found the voters {list(self.ids)}, this node is {me}: only a quorum of this "
                "node alone "
                f"is supported"
            )
        voted = self.directory_of(me)
        if self.kraft_version and voted != directory_id:
            raise UnsupportedQuorumError(
                f"voter {me} has directory id {voted.hex()}, this directory {directory_id.hex()}: "
                f"its metadata log belongs to another directory"
            )


def voters_record(voters: VoterSet) -> VotersRecord:
    """Encode a voter set as a control record."""
    return VotersRecord(
        version=0,
        voters=[
            VoterWithEndpoints(
                voter_id=voter.id,
                voter_directory_id=voter.directory_id,
                endpoints=[
                    VoterListener(name=e.name, host=e.host, port=e.port) for e in voter.endpoints
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
    """Decode the voters of a control record."""
    return tuple(
        Voter(
            NodeId(voter.voter_id),
            voter.voter_directory_id,
            tuple(VoterEndpoint(e.name, e.host, e.port) for e in voter.endpoints),
        )
        for voter in record.voters
    )
