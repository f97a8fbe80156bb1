"""UpdateRaftVoter (key 82): report a voter's endpoints and versions to the metadata quorum
(KIP-853).
"""

from typing import ClassVar

from trio_kafka.protocol.fields import array, int16, int32, string, struct_, uuid
from trio_kafka.protocol.schema import request, response, struct
from trio_kafka.protocol.structs.cluster import KRaftVersionFeature, VoterListener


@request(key=82, versions="0", flexible="0+")
class UpdateRaftVoterRequest:
    """The voter, its directory and endpoints."""

    response: ClassVar[type["UpdateRaftVoterResponse"]]

    cluster_id: str | None = string(nullable="0+")
    current_leader_epoch: int = int32()
    voter_id: int = int32()
    voter_directory_id: bytes = uuid()
    listeners: list[VoterListener] = array(VoterListener)
    k_raft_version_feature: KRaftVersionFeature = struct_(KRaftVersionFeature)


@struct
class CurrentLeader:
    leader_id: int = int32(default=-1)
    leader_epoch: int = int32(default=-1)
    host: str = string()
    port: int = int32()


@response(UpdateRaftVoterRequest)
class UpdateRaftVoterResponse:
    """An error, and the current leader."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    current_leader: CurrentLeader = struct_(CurrentLeader, tag=0)
