"""Control records: the end of their keys, and their values.

The first field of a value is its version, in which it is decoded.
"""

from trio_kafka.protocol.fields import array, int16, int32, int64, struct_, uuid
from trio_kafka.protocol.schema import data, struct
from trio_kafka.protocol.structs.cluster import KRaftVersionFeature, VoterListener


@struct
class Voter:
    voter_id: int = int32()
    voter_directory_id: bytes = uuid("1+")


@data(versions="0-1", flexible="0+")
class LeaderChangeMessage:
    """Begin of a leader's epoch; in the first batch of each epoch."""

    version: int = int16()
    leader_id: int = int32()
    voters: list[Voter] = array(Voter)
    granting_voters: list[Voter] = array(Voter)


@data(versions="0", flexible="0+")
class SnapshotHeaderRecord:
    """Begin of a snapshot."""

    version: int = int16()
    last_contained_log_timestamp: int = int64()


@data(versions="0", flexible="0+")
class SnapshotFooterRecord:
    """End of a snapshot; a snapshot without it is incomplete."""

    version: int = int16()


@data(versions="0", flexible="0+")
class KRaftVersionRecord:
    """The version of KRaft in use: 1 lets voters change."""

    version: int = int16()
    k_raft_version: int = int16()


@struct
class VoterWithEndpoints:
    voter_id: int = int32()
    voter_directory_id: bytes = uuid()
    endpoints: list[VoterListener] = array(VoterListener)
    k_raft_version_feature: KRaftVersionFeature = struct_(KRaftVersionFeature)


@data(versions="0", flexible="0+")
class VotersRecord:
    """All voters of the quorum, from this record on (KIP-853)."""

    version: int = int16()
    voters: list[VoterWithEndpoints] = array(VoterWithEndpoints)


@data(versions="0")
class EndTxnMarker:
    """Value of the control records that commit or abort a producer's transaction."""

    coordinator_epoch: int = int32()


@data(versions="0")
class ControlRecordTypeSchema:
    """Type of the control record, after the version in its key."""

    type: int = int16()
