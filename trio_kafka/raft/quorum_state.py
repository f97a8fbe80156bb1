"""The `quorum-state` file, which stores an election.

Source: KIP-595, KIP-853 (version 1).
"""

from typing import Final

from trio_kafka.errors import LogDirError
from trio_kafka.log.files.checkpoints import read_file, replace_file
from trio_kafka.model import NodeId
from trio_kafka.protocol.errors import DecodeError
from trio_kafka.protocol.stored.quorum_state import (
    QuorumStateData,
    Voter,
    read_quorum_state,
    write_quorum_state,
)
from trio_kafka.raft.values import Election
from trio_kafka.raft.voters import Voter as VoterOfSet
from trio_kafka.raft.voters import VoterSet
from trio_kafka.world.protocols import Directory

NAME: Final = "quorum-state"
_LAST_EPOCH: Final = (1 << 31) - 1


async def load_election(directory: Directory) -> Election:
    """Return the saved election, epoch 0 if there is none. Raises LogDirError, OSError."""
    state = await _read(directory)
    if state is None:
        return Election()
    return Election(state.leader_epoch, NodeId(state.leader_id), NodeId(state.voted_id))


async def load_voters(directory: Directory) -> VoterSet | None:
    """Return the saved voters of a cluster with kraft.version 0. Raises LogDirError, OSError.

    Its metadata log does not name them.
    """
    state = await _read(directory)
    if state is None or not state.current_voters:
        return None
    voters = tuple(VoterOfSet(NodeId(voter.voter_id)) for voter in state.current_voters)
    return VoterSet(kraft_version=0, voters=voters)


async def _read(directory: Directory) -> QuorumStateData | None:
    try:
        content = await read_file(directory, NAME)
        if content is None:
            return None
        state = read_quorum_state(content.decode())
        if not 0 <= state.leader_epoch < _LAST_EPOCH:
            # This node could stand in no later epoch.
            raise ValueError(f"epoch {state.leader_epoch}, want 0 to {_LAST_EPOCH - 1}")
    except (DecodeError, ValueError) as error:
        # Continuing without it could mean voting twice in one epoch.
        remedy = (
            f"Restore {directory.path}/{NAME} from a backup, or remove it if no other node votes"
        )
        raise LogDirError(directory.path, f"{NAME}: {error}. {remedy}") from error
    return state


async def save_election(directory: Directory, election: Election, voters: VoterSet) -> None:
    """Save an election durably. OSError."""
    version = min(voters.kraft_version, 1)
    state = QuorumStateData(
        leader_id=election.leader, leader_epoch=election.epoch, voted_id=election.voted
    )
    if version:
        state.voted_directory_id = voters.directory_of(election.voted)
    else:
        state.current_voters = [Voter(voter_id=voter) for voter in voters.ids]
    await replace_file(directory, NAME, write_quorum_state(state, version).encode())
