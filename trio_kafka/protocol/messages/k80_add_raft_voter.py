"""AddRaftVoter (key 80): add a voter to the metadata quorum (KIP-853)."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, boolean, int16, int32, string, uuid
from trio_kafka.protocol.schema import request, response
from trio_kafka.protocol.structs.cluster import VoterListener


@request(key=80, versions="0-1", flexible="0+")
class AddRaftVoterRequest:
    """The voter, its directory and endpoints."""

    response: ClassVar[type["AddRaftVoterResponse"]]

    cluster_id: str | None = string(nullable="0+")
    timeout_ms: int = int32()
    voter_id: int = int32()
    voter_directory_id: bytes = uuid()
    listeners: list[VoterListener] = array(VoterListener)
    ack_when_committed: bool = boolean("1+", default=True)


@response(AddRaftVoterRequest)
class AddRaftVoterResponse:
    """Result of the addition of a voter."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", ignorable=True)
