"""The file `quorum-state`: one line of JSON, a QuorumStateData with its version as `data_version`.

Version 0 goes with kraft.version 0, whose voters are static, version 1 with kraft.version 1
(KIP-853).
"""

import json

from trio_kafka.protocol.errors import DecodeError
from trio_kafka.protocol.plain import from_data, to_data
from trio_kafka.protocol.schema import array, data, int32, int64, message_of, string, struct, uuid
from trio_kafka.protocol.versions import covers


@struct
class Voter:
    voter_id: int = int32()


@data(versions="0-1", flexible="0+")
class QuorumStateData:
    """Who leads the quorum and for whom this node has voted."""

    cluster_id: str = string("0")
    leader_id: int = int32(default=-1)
    leader_epoch: int = int32(default=-1)
    voted_id: int = int32(default=-1)
    voted_directory_id: bytes = uuid("1+")
    applied_offset: int = int64("0")
    current_voters: list[Voter] | None = array(Voter, "0", nullable="0")


def write_quorum_state(state: QuorumStateData, version: int) -> str:
    """The content of the file. Raises EncodeError if the version cannot carry the state."""
    fields = to_data(state, names="kafka", version=version)
    return json.dumps({**fields, "data_version": version}, separators=(",", ":"))


def read_quorum_state(text: str) -> QuorumStateData:
    """The state in the content of a file. Raises DecodeError for anything else."""
    try:
        fields = json.loads(text)
        version = fields.pop("data_version")
        known = covers(message_of(QuorumStateData).versions, version)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DecodeError(f"quorum-state {text[:200]!r}: {error!r}") from error
    if not known:
        raise DecodeError(f"quorum-state of data_version {version}: want 0 or 1")
    try:
        return from_data(QuorumStateData, fields, names="kafka")
    except ValueError as error:
        raise DecodeError(f"quorum-state {text[:200]!r}: {error}") from error
