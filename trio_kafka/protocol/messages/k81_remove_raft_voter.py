"""RemoveRaftVoter (key 81): remove a voter from the metadata quorum (KIP-853)."""

from typing import ClassVar

from trio_kafka.protocol.schema import int16, int32, request, response, string, uuid


@request(key=81, versions="0", flexible="0+")
class RemoveRaftVoterRequest:
    """The voter and its directory."""

    response: ClassVar[type["RemoveRaftVoterResponse"]]

    cluster_id: str | None = string(nullable="0+")
    voter_id: int = int32()
    voter_directory_id: bytes = uuid()


@response(RemoveRaftVoterRequest)
class RemoveRaftVoterResponse:
    """Result of the removal of a voter."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", ignorable=True)
