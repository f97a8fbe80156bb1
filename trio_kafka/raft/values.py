"""Values of the Raft machine: events, actions and what both consist of.

A message between nodes is an event for its receiver and the content of `Send` for its sender;
transport is the driver's job. A response carries the correlation id of its request; the driver must
not deliver it to a restarted node, just as a closed connection would not.
Offsets named `end` are exclusive.
Source: KIP-595 (the protocol), KIP-996 (pre-vote).
"""

from enum import StrEnum

from trio_kafka.attributes import frozen
from trio_kafka.model import NO_NODE, NodeId


class Role(StrEnum):
    """Role of a node in the current epoch."""

    UNATTACHED = "unattached"  # knows no leader; may have voted
    PROSPECTIVE = "prospective"  # asks if it would be elected, without a new epoch
    CANDIDATE = "candidate"  # asks to be elected, in a new epoch
    FOLLOWER = "follower"
    LEADER = "leader"
    RESIGNED = "resigned"  # led this epoch and will not lead it again


@frozen
class Election:
    """Election state that must survive a power loss: epoch, known leader, and this node's vote."""

    epoch: int = 0
    leader: NodeId = NO_NODE
    voted: NodeId = NO_NODE

    def at_least(self, epoch: int) -> "Election":
        """Return this election, or `epoch` without leader and vote if this one is older.

        Source: KafkaRaftClient starts unattached in the epoch of its log.
        """
        return self if self.epoch >= epoch else Election(epoch)


@frozen
class Timeouts:
    """Timeouts in seconds. The election timeout gets a random part of up to its own length.

    A leader that receives no fetches from a majority resigns after a multiple of `fetch_s`.
    """

    election_s: float = 1.0
    fetch_s: float = 2.0
    backoff_s: float = 1.0


@frozen
class VoteRequest:
    """Request of `sender` for a vote in its epoch; with `pre_vote`, a question only."""

    sender: NodeId
    epoch: int
    end: int
    last_epoch: int
    pre_vote: bool
    correlation: int = 0


@frozen
class VoteResponse:
    """Answer to the VoteRequest with the same `correlation`."""

    sender: NodeId
    epoch: int
    leader: NodeId
    granted: bool
    pre_vote: bool
    correlation: int = 0


@frozen
class BeginEpoch:
    """Announcement that `sender` leads `epoch`: fetch from it."""

    sender: NodeId
    epoch: int


@frozen
class EndEpoch:
    """Announcement that `sender` resigned `epoch`; the first of `successors` should stand first."""

    sender: NodeId
    epoch: int
    successors: tuple[NodeId, ...]


@frozen
class FetchRequest:
    """Request for records from `offset` on; `sender` has synced everything below.

    last_epoch: of the record before `offset`.
    """

    sender: NodeId
    epoch: int
    offset: int
    last_epoch: int
    correlation: int = 0


@frozen
class FetchResponse:
    """Leader's answer to the FetchRequest with the same `correlation`.

    refused: `sender` does not lead `epoch` (any more), so this proves no living leader.
    diverging: (epoch, end) where the logs diverge: truncate there and fetch again.
    Records travel beside the response; the driver appends them after `step` if it returned
    `AcceptRecords`.
    """

    sender: NodeId
    epoch: int
    leader: NodeId
    offset: int = 0
    high_watermark: int = 0
    diverging: tuple[int, int] | None = None
    refused: bool = False
    correlation: int = 0


Message = VoteRequest | VoteResponse | BeginEpoch | EndEpoch | FetchRequest | FetchResponse


@frozen
class Tick:
    """Passage of time: `now` has reached the machine's deadline."""


@frozen
class Appended:
    """Report that the log grew to `end` by records of `epoch`."""

    end: int
    epoch: int


@frozen
class Synced:
    """Report that all records below `end` are durable."""

    end: int


@frozen
class Resign:
    """Request to resign leadership in order, before a shutdown."""


Event = Message | Tick | Appended | Synced | Resign


@frozen
class Save:
    """Make `election` durable before performing any later action."""

    election: Election


@frozen
class Send:
    to: NodeId
    message: Message


@frozen
class SendRecords:
    """Answer a fetch with the records from `response.offset` on."""

    to: NodeId
    response: FetchResponse


@frozen
class AcceptRecords:
    """Append the records of the response; report `Appended` for each run of one epoch, then
    `Synced`.
    """

    offset: int


@frozen
class Truncate:
    """Truncate the log to `end`."""

    end: int


@frozen
class Lead:
    """Begin to lead `epoch`: append its LeaderChange record first, then accept appends."""

    epoch: int


@frozen
class StepDown:
    """Stop leading: accept no appends; the fate of uncommitted records is unknown."""


@frozen
class Commit:
    """Report that all records below `high_watermark` are committed for good."""

    high_watermark: int


Action = Save | Send | SendRecords | AcceptRecords | Truncate | Lead | StepDown | Commit
