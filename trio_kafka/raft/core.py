"""KRaft as a pure state machine: events and time in, actions out; no clock, file or socket.

The driver performs the actions of a step in order and reports their results as events.

Invariants:
One leader per epoch: a vote is saved before it is sent.
A committed record is in the log of every later leader: a majority had synced it, and voters only
elect a log at least as long as theirs.
The high watermark never moves back, and moves only over records of the leader's own epoch.
A response counts only if it answers this node's latest request: a late answer to an earlier fetch
could truncate records committed since.
A quorum of one elects itself at once and has no deadline while it leads.
Source: KIP-595, KIP-853 (voters), KIP-996 (pre-vote).
"""

from collections.abc import Callable
from functools import partial
from math import inf
from typing import Final

from trio_kafka.errors import InvariantError
from trio_kafka.model import NO_NODE, NodeId
from trio_kafka.raft.history import History
from trio_kafka.raft.values import (
    AcceptRecords,
    Action,
    Appended,
    BeginEpoch,
    Commit,
    Election,
    EndEpoch,
    Event,
    FetchRequest,
    FetchResponse,
    Lead,
    Resign,
    Role,
    Save,
    Send,
    SendRecords,
    StepDown,
    Synced,
    Tick,
    Timeouts,
    Truncate,
    VoteRequest,
    VoteResponse,
)

_NO_REQUEST: Final = -1
_CHECK_QUORUM: Final = 1.5  # fetch timeouts without a majority after which a leader resigns


class Raft:
    """One node's view of the quorum; `role`, `election`, `high_watermark`, `deadline`
    are public.
    """

    def __init__(
        self,
        *,
        me: NodeId,
        voters: tuple[NodeId, ...],
        election: Election,
        history: History,
        timeouts: Timeouts,
        jitter: Callable[[], float],
    ) -> None:
        """Create the machine; call `start` before the first event.

        history: of a log that is fully synced. jitter: a random number in [0, 1).
        InvariantError: the log has a higher epoch than the election (see `Election.at_least`).
        """
        if election.epoch < history.last_epoch:
            reason = f"epoch {election.epoch} of a log with epoch {history.last_epoch}"
            raise InvariantError(f"{reason}: want the log's epoch or a higher one")
        self.me = me
        self.voters = voters
        self.election = election
        self.role = Role.UNATTACHED
        self.high_watermark = 0
        self.deadline = inf
        self.history = history
        self._synced = history.end
        self._timeouts = timeouts
        self._jitter = jitter
        self._actions: list[Action] = []
        self._votes: dict[NodeId, bool] = {}
        self._epoch_start = 0
        self._ends: dict[NodeId, int] = {}  # as leader: synced end of each other voter
        self._last_fetch: dict[NodeId, float] = {}  # as leader: time of each voter's last fetch
        self._fetching = False  # as follower: has the leader answered in this epoch?
        self._correlation = _NO_REQUEST  # of the newest request
        self._awaited = _NO_REQUEST  # the request whose answers count

    def start(self, now: float) -> list[Action]:
        """Start the machine; call once, before any event."""
        if self.election.leader == self.me:
            # Records that it appended last may be lost: it cannot lead the same epoch again.
            self._enter(Role.RESIGNED, now + self._election_timeout())
        elif self.election.leader != NO_NODE:
            self._follow(now)
        else:
            self._enter(Role.UNATTACHED, now + self._election_timeout())
        if self.voters == (self.me,):
            self._stand(now)
        return self._take_actions()

    def leads(self, epoch: int) -> bool:
        """Return whether this node leads in that epoch."""
        return self.role is Role.LEADER and self.election.epoch == epoch

    def step(self, event: Event, now: float) -> list[Action]:
        """Process one event and return the resulting actions."""
        match event:
            case Tick():
                if now >= self.deadline:
                    self._timed_out(now)
            case Appended(end, epoch):
                self.history.append(end, epoch)
            case Synced(end):
                self._on_synced(end)
            case Resign():
                self._resign(now)
            case VoteRequest():
                self._on_vote_request(event, now)
            case VoteResponse():
                self._on_vote_response(event, now)
            case BeginEpoch():
                self._update_epoch(event.epoch, event.sender, now)
            case EndEpoch():
                self._on_end_epoch(event, now)
            case FetchRequest():
                self._on_fetch_request(event, now)
            case FetchResponse():
                self._on_fetch_response(event, now)
        return self._take_actions()

    # Every message is checked first for a higher epoch or a new leader, which ends the current
    # role.

    def _update_epoch(self, epoch: int, leader: NodeId, now: float) -> None:
        if epoch < self.election.epoch:
            return
        if leader == self.me:
            if epoch > self.election.epoch:
                # This node led the epoch and lost its saved election: vote for no other node.
                self._save(Election(epoch, NO_NODE, self.me))
                self._enter(Role.UNATTACHED, now + self._election_timeout())
            return
        if epoch > self.election.epoch:
            self._save(Election(epoch, leader))
            if leader == NO_NODE:
                self._enter(Role.UNATTACHED, now + self._election_timeout())
            else:
                self._follow(now)
        elif leader != NO_NODE:
            if self.election.leader not in (NO_NODE, leader):
                raise InvariantError(
                    f"found two leaders of epoch {epoch}: {self.election.leader} and {leader}"
                )
            if self.election.leader == NO_NODE:
                self._save(Election(epoch, leader, self.election.voted))
            if self.role is not Role.FOLLOWER:
                # A prospective node follows too, if its leader turns out to be alive.
                self._follow(now)

    # Elections

    def _timed_out(self, now: float) -> None:
        match self.role:
            case Role.LEADER:
                self._tick_as_leader(now)
            case Role.PROSPECTIVE:
                # No node answered: wait, then ask again.
                self._enter(Role.UNATTACHED, now + self._election_timeout())
            case _:
                self._start_pre_vote(now)

    def _start_pre_vote(self, now: float) -> None:
        """Stand only if a majority would vote for this node, so that a partitioned node raises no
        epochs.

        Source: KIP-996.
        """
        if self.me not in self.voters:
            self._enter(Role.UNATTACHED, inf)
            return
        self._enter(Role.PROSPECTIVE, now + self._election_timeout())
        self._request_votes(pre_vote=True)
        self._count(now)  # a quorum of one needs no answers

    def _stand(self, now: float) -> None:
        self._save(Election(self.election.epoch + 1, NO_NODE, self.me))
        self._enter(Role.CANDIDATE, now + self._election_timeout())
        self._request_votes(pre_vote=False)
        self._count(now)

    def _request_votes(self, *, pre_vote: bool) -> None:
        self._votes = {self.me: True}
        request = VoteRequest(
            self.me,
            self.election.epoch,
            self.history.end,
            self.history.last_epoch,
            pre_vote,
            self._next_correlation(),
        )
        self._actions.extend(Send(voter, request) for voter in self._others())

    def _on_vote_request(self, request: VoteRequest, now: float) -> None:
        if self.me not in self.voters or request.sender not in self.voters:
            return
        self._update_epoch(request.epoch, NO_NODE, now)
        granted = request.epoch == self.election.epoch and self._would_vote(request)
        if granted and not request.pre_vote:
            if self.election.voted == NO_NODE:
                self._save(Election(request.epoch, NO_NODE, request.sender))
            self._enter(Role.UNATTACHED, now + self._election_timeout())
        answer = VoteResponse(
            self.me,
            self.election.epoch,
            self.election.leader,
            granted,
            request.pre_vote,
            request.correlation,
        )
        self._actions.append(Send(request.sender, answer))

    def _would_vote(self, request: VoteRequest) -> bool:
        ours = (self.history.last_epoch, self.history.end)
        if (request.last_epoch, request.end) < ours:
            return False
        if request.pre_vote:
            # A follower in contact with its leader must not help to unseat it.
            follows = self.role is Role.FOLLOWER and self._fetching
            return self.role is not Role.LEADER and not follows
        if self.election.leader != NO_NODE:
            return False
        return self.election.voted in (NO_NODE, request.sender)

    def _on_vote_response(self, response: VoteResponse, now: float) -> None:
        if response.correlation != self._awaited:
            return
        # A voter that grants its vote has not heard from the leader it names. Following that leader
        # again would mean waiting for a dead node.
        leader = NO_NODE if response.granted else response.leader
        self._update_epoch(response.epoch, leader, now)
        standing = Role.PROSPECTIVE if response.pre_vote else Role.CANDIDATE
        if response.epoch != self.election.epoch or self.role is not standing:
            return
        if response.sender in self.voters:
            self._votes[response.sender] = response.granted
            self._count(now)

    def _count(self, now: float) -> None:
        granted = sum(self._votes.values())
        if granted >= self._majority:
            if self.role is Role.PROSPECTIVE:
                self._stand(now)
            else:
                self._lead(now)
        elif len(self.voters) - (len(self._votes) - granted) < self._majority:
            # Lost: the winner will announce itself within the backoff.
            self._enter(Role.UNATTACHED, now + self._jitter() * self._timeouts.backoff_s)

    # Leader

    def _lead(self, now: float) -> None:
        self._save(Election(self.election.epoch, self.me))
        self._epoch_start = self.history.end
        self._ends = dict.fromkeys(self._others(), -1)
        self._last_fetch = dict.fromkeys(self._others(), now)
        self._enter(Role.LEADER, inf)
        self._actions.append(Lead(self.election.epoch))
        self._announce(now)

    def _announce(self, now: float) -> None:
        """Announce this epoch to every voter that has not fetched in it."""
        for voter, end in self._ends.items():
            if end < 0:
                self._actions.append(Send(voter, BeginEpoch(self.me, self.election.epoch)))
        self.deadline = now + self._timeouts.fetch_s / 2 if self._ends else inf

    def _tick_as_leader(self, now: float) -> None:
        limit = self._timeouts.fetch_s * _CHECK_QUORUM
        near = sum(now - fetched_at < limit for fetched_at in self._last_fetch.values())
        if 1 + near < self._majority:
            self._resign(now)
        else:
            self._announce(now)

    def _resign(self, now: float) -> None:
        if self.role is not Role.LEADER:
            return
        successors = tuple(sorted(self._ends, key=lambda voter: (-self._ends[voter], voter)))
        for voter in self._others():
            self._actions.append(Send(voter, EndEpoch(self.me, self.election.epoch, successors)))
        self._enter(Role.RESIGNED, now + self._election_timeout())

    def _on_fetch_request(self, request: FetchRequest, now: float) -> None:
        self._update_epoch(request.epoch, NO_NODE, now)
        epoch, leader = self.election.epoch, self.election.leader
        answer = partial(FetchResponse, self.me, epoch, leader, correlation=request.correlation)
        if self.role is not Role.LEADER or request.epoch < epoch:
            self._actions.append(Send(request.sender, answer(refused=True)))
            return
        same_epoch, end = self.history.end_of(request.last_epoch)
        if request.offset > end or same_epoch != request.last_epoch:
            self._actions.append(Send(request.sender, answer(diverging=(same_epoch, end))))
            return
        if request.sender in self._ends:
            self._last_fetch[request.sender] = now
            self._ends[request.sender] = max(request.offset, self._ends[request.sender])
            self._advance()
        accepted = answer(offset=request.offset, high_watermark=self.high_watermark)
        self._actions.append(SendRecords(request.sender, accepted))

    def _on_synced(self, end: int) -> None:
        self._synced = max(self._synced, min(end, self.history.end))
        if self.role is Role.LEADER:
            self._advance()
        elif self.role is Role.FOLLOWER:
            self._fetch()

    def _advance(self) -> None:
        ends = sorted([self._synced, *self._ends.values()], reverse=True)
        reached = ends[self._majority - 1]
        # A record of an older epoch is safe only below one of this epoch (Raft paper, 5.4.2).
        if reached > self._epoch_start and reached > self.high_watermark:
            self.high_watermark = reached
            self._actions.append(Commit(reached))

    # Follower

    def _follow(self, now: float) -> None:
        self._fetching = False
        self._enter(Role.FOLLOWER, now + self._timeouts.fetch_s)
        self._fetch()

    def _fetch(self) -> None:
        """Fetch from the synced end: the leader counts everything below as replicated here."""
        request = FetchRequest(
            self.me,
            self.election.epoch,
            self._synced,
            self.history.epoch_at(self._synced),
            self._next_correlation(),
        )
        self._actions.append(Send(self.election.leader, request))

    def _on_fetch_response(self, response: FetchResponse, now: float) -> None:
        if response.correlation != self._awaited:
            return
        self._update_epoch(response.epoch, response.leader, now)
        current = response.epoch == self.election.epoch and response.sender == self.election.leader
        if self.role is not Role.FOLLOWER or not current or response.refused:
            return
        self._fetching = True
        self._awaited = _NO_REQUEST
        self.deadline = now + self._timeouts.fetch_s
        if response.diverging is not None:
            self._truncate(*response.diverging)
        elif response.offset == self.history.end:
            self._commit_up_to(response.high_watermark)
            self._actions.append(AcceptRecords(response.offset))

    def _truncate(self, epoch: int, end: int) -> None:
        end = min(end, self.history.end_of(epoch)[1])
        if end < self.high_watermark:
            raise InvariantError(
                f"leader {self.election.leader} wants the metadata log truncated to {end}, "
                f"below the high watermark {self.high_watermark}"
            )
        self.history.truncate(end)
        self._synced = min(self._synced, end)
        self._actions.append(Truncate(end))
        self._fetch()

    def _commit_up_to(self, high_watermark: int) -> None:
        reached = min(high_watermark, self._synced)
        if reached > self.high_watermark:
            self.high_watermark = reached
            self._actions.append(Commit(reached))

    def _on_end_epoch(self, event: EndEpoch, now: float) -> None:
        self._update_epoch(event.epoch, event.sender, now)
        if self.role is Role.FOLLOWER and event.epoch == self.election.epoch:
            place = event.successors.index(self.me) if self.me in event.successors else 1
            self._fetching = False
            self.deadline = now + place * self._timeouts.backoff_s * (1 + self._jitter())

    # Shared

    def _enter(self, role: Role, deadline: float) -> None:
        if self.role is Role.LEADER and role is not Role.LEADER:
            self._actions.append(StepDown())
        self.role = role
        self.deadline = deadline if self.me in self.voters else inf
        self._votes = {}

    def _next_correlation(self) -> int:
        """Return a new correlation id; only answers to this request count from now on."""
        self._correlation += 1
        self._awaited = self._correlation
        return self._awaited

    def _save(self, election: Election) -> None:
        if election.epoch < self.election.epoch:
            raise InvariantError(f"epoch {election.epoch} after {self.election.epoch}")
        self.election = election
        self._actions.append(Save(election))

    def _take_actions(self) -> list[Action]:
        actions, self._actions = self._actions, []
        return actions

    def _others(self) -> tuple[NodeId, ...]:
        return tuple(voter for voter in self.voters if voter != self.me)

    def _election_timeout(self) -> float:
        return self._timeouts.election_s * (1 + self._jitter())

    @property
    def _majority(self) -> int:
        return len(self.voters) // 2 + 1
