"""What the Raft machine takes and gives: events in, actions out, and the few values that both are
made of.

Messages between nodes are events for who receives them and the content of `Send` for who sends
them; how they travel is the shell's business. A response carries the correlation of its request;
the shell delivers none to a later life of the node that asked, as a closed connection would.
Offsets named `end` are exclusive.
Source: KIP-595 (the protocol), KIP-996 (pre-vote).
"""

from enum import StrEnum

from trio_kafka.attributes import frozen
from trio_kafka.model import NO_NODE, NodeId


class Role(StrEnum):
    """What a node is in the present epoch."""

    UNATTACHED = "unattached"  # knows no leader; may have voted
    PROSPECTIVE = "prospective"  # asks whether it would be elected, without a new epoch
    CANDIDATE = "candidate"  # asks to be elected, in an epoch of its own
    FOLLOWER = "follower"
    LEADER = "leader"
    RESIGNED = "resigned"  # was leader of this epoch and will not be again


@frozen
class Election:
    """What must survive a power loss: the epoch, its leader if known, and whom we voted for."""

    epoch: int = 0
    leader: NodeId = NO_NODE
    voted: NodeId = NO_NODE

    def at_least(self, epoch: int) -> "Election":
        """This election, or `epoch` without leader and vote where this one is older.

        Source: KafkaRaftClient starts unattached in the epoch of its log.
        """
        return self if self.epoch >= epoch else Election(epoch)


@frozen
class Timeouts:
    """Seconds. The election's is doubled at random; unfetched, a leader steps down too."""

    election_s: float = 1.0
    fetch_s: float = 2.0
    backoff_s: float = 1.0


@frozen
class VoteRequest:
    """`sender` asks for a vote in its epoch; with `pre_vote`, whether it would get one."""

    sender: NodeId
    epoch: int
    end: int
    last_epoch: int
    pre_vote: bool
    correlation: int = 0


@frozen
class VoteResponse:
    """Answer to the VoteRequest of that `correlation`."""

    sender: NodeId
    epoch: int
    leader: NodeId
    granted: bool
    pre_vote: bool
    correlation: int = 0


@frozen
class BeginEpoch:
    """`sender` leads `epoch`: fetch from it."""

    sender: NodeId
    epoch: int


@frozen
class EndEpoch:
    """`sender` leads `epoch` no more; the first of `successors` should stand first."""

    sender: NodeId
    epoch: int
    successors: tuple[NodeId, ...]


@frozen
class FetchRequest:
    """`sender` has all up to `offset` synced, the last of it of `last_epoch`; wants more."""

    sender: NodeId
    epoch: int
    offset: int
    last_epoch: int
    correlation: int = 0


@frozen
class FetchResponse:
    """The leader's answer to the FetchRequest of that `correlation`.

    refused: `sender` does not lead `epoch`, maybe no more: no sign of life from a leader.
    diverging: (epoch, end) where the asker's log stops being the leader's: cut there and ask again.
    Records travel beside it and are appended by the shell after `step`, if that gave
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
    """Time has passed: `now` is at or beyond the machine's deadline."""


@frozen
class Appended:
    """The log ends at `end`; what was added is of `epoch`."""

    end: int
    epoch: int


@frozen
class Synced:
    """All below `end` is on the disk."""

    end: int


@frozen
class Resign:
    """Leave leadership in order, before shutting down."""


Event = Message | Tick | Appended | Synced | Resign


@frozen
class Save:
    """Make `election` durable before any later action is performed."""

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
    """Append what came with it; tell `Appended` for each run of one epoch, then `Synced`."""

    offset: int


@frozen
class Truncate:
    """Cut the log to `end`; it ends there at once."""

    end: int


@frozen
class Lead:
    """This node leads `epoch`: append its LeaderChange first, then accept commits."""

    epoch: int


@frozen
class StepDown:
    """This node leads no more: nothing more may be appended, what is not committed is unknown."""


@frozen
class Commit:
    """All below `high_watermark` is committed, for good."""

    high_watermark: int


Action = Save | Send | SendRecords | AcceptRecords | Truncate | Lead | StepDown | Commit
