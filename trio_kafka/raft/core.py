"""KRaft as a pure machine: events and the time in, actions out; no clock, no file, no socket.

The shell performs the actions of a step in their order, and tells what came of them as events.
Invariants: one leader an epoch, as a vote is saved before it is sent; what is committed is in the
log of every later leader, as a majority had it *synced* and votes only for logs at least as long;
the high watermark moves only over records of the leader's own epoch, and never back. A response
counts only while its request is the last one that this node sent: a late answer to an earlier fetch
would cut what was committed since. A quorum of one elects itself at once; while
it leads it has no deadline.
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

_NOTHING_ASKED: Final = -1
_CHECK_QUORUM: Final = 1.5  # fetch timeouts without a majority after which a leader steps down


class Raft:
    """One node's view of the quorum; `role`, `election`, `high_watermark`, `deadline` are read."""

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
        """history: of a log that is wholly synced. jitter: chance in [0, 1).

        InvariantError: the log has a higher epoch than the election (see `Election.at_least`).
        """
        if election.epoch < history.last_epoch:
            found = f"epoch {election.epoch} of a log with epoch {history.last_epoch}"
            raise InvariantError(f"{found}: want that of the log, or a higher one")
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
        self._out: list[Action] = []
        self._votes: dict[NodeId, bool] = {}
        self._epoch_start = 0
        self._ends: dict[NodeId, int] = {}  # leader: what each other voter has synced
        self._heard: dict[NodeId, float] = {}  # leader: when it was told so
        self._fetching = False  # follower: has its leader answered in this epoch?
        self._correlation = _NOTHING_ASKED  # of the newest request
        self._asked = _NOTHING_ASKED  # the request whose answers count

    def start(self, now: float) -> list[Action]:
        """Once, before any event."""
        if self.election.leader == self.me:
            # What it appended last may be lost: it cannot lead the same epoch again.
            self._enter(Role.RESIGNED, now + self._election_timeout())
        elif self.election.leader != NO_NODE:
            self._follow(now)
        else:
            self._enter(Role.UNATTACHED, now + self._election_timeout())
        if self.voters == (self.me,):
            self._stand(now)
        return self._taken()

    def step(self, event: Event, now: float) -> list[Action]:
        """The machine's answer to one event."""
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
                self._learn(event.epoch, event.sender, now)
            case EndEpoch():
                self._on_end_epoch(event, now)
            case FetchRequest():
                self._on_fetch_request(event, now)
            case FetchResponse():
                self._on_fetch_response(event, now)
        return self._taken()

    # What every message does first: a higher epoch, or a leader for this one, ends what this node
    # was.

    def _learn(self, epoch: int, leader: NodeId, now: float) -> None:
        if epoch < self.election.epoch:
            return
        if leader == self.me:
            if epoch > self.election.epoch:
                # This node led it and has lost its saved election: vote for no other node.
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
                    f"two leaders of epoch {epoch}: {self.election.leader} and {leader}"
                )
            if self.election.leader == NO_NODE:
                self._save(Election(epoch, leader, self.election.voted))
            if self.role is not Role.FOLLOWER:
                # Also a prospective whose leader is there after all.
                self._follow(now)

    # Elections.

    def _timed_out(self, now: float) -> None:
        match self.role:
            case Role.LEADER:
                self._tick_as_leader(now)
            case Role.PROSPECTIVE:
                # Nobody answered: wait, then ask again.
                self._enter(Role.UNATTACHED, now + self._election_timeout())
            case _:
                self._ask_before(now)

    def _ask_before(self, now: float) -> None:
        """Stand only if a majority would vote for us: a node cut off raises no epochs (KIP-996)."""
        if self.me not in self.voters:
            self._enter(Role.UNATTACHED, inf)
            return
        self._enter(Role.PROSPECTIVE, now + self._election_timeout())
        self._ask(pre_vote=True)
        self._count(now)  # a quorum of one needs no answer

    def _stand(self, now: float) -> None:
        self._save(Election(self.election.epoch + 1, NO_NODE, self.me))
        self._enter(Role.CANDIDATE, now + self._election_timeout())
        self._ask(pre_vote=False)
        self._count(now)

    def _ask(self, *, pre_vote: bool) -> None:
        self._votes = {self.me: True}
        request = VoteRequest(
            self.me,
            self.election.epoch,
            self.history.end,
            self.history.last_epoch,
            pre_vote,
            self._next_correlation(),
        )
        self._out.extend(Send(voter, request) for voter in self._others())

    def _on_vote_request(self, request: VoteRequest, now: float) -> None:
        if self.me not in self.voters or request.sender not in self.voters:
            return
        self._learn(request.epoch, NO_NODE, now)
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
        self._out.append(Send(request.sender, answer))

    def _would_vote(self, request: VoteRequest) -> bool:
        ours = (self.history.last_epoch, self.history.end)
        if (request.last_epoch, request.end) < ours:
            return False
        if request.pre_vote:
            # A follower that hears its leader helps nobody to unseat it.
            follows = self.role is Role.FOLLOWER and self._fetching
            return self.role is not Role.LEADER and not follows
        if self.election.leader != NO_NODE:
            return False
        return self.election.voted in (NO_NODE, request.sender)

    def _on_vote_response(self, response: VoteResponse, now: float) -> None:
        if response.correlation != self._asked:
            return
        # Who grants its vote has not heard the leader it names: to follow that one again would be
        # to wait for the dead.
        leader = NO_NODE if response.granted else response.leader
        self._learn(response.epoch, leader, now)
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
            # Lost: whoever won will be heard of within the backoff.
            self._enter(Role.UNATTACHED, now + self._jitter() * self._timeouts.backoff_s)

    # Leading.

    def _lead(self, now: float) -> None:
        self._save(Election(self.election.epoch, self.me))
        self._epoch_start = self.history.end
        self._ends = dict.fromkeys(self._others(), -1)
        self._heard = dict.fromkeys(self._others(), now)
        self._enter(Role.LEADER, inf)
        self._out.append(Lead(self.election.epoch))
        self._announce(now)

    def _announce(self, now: float) -> None:
        """Tell whoever has not fetched in this epoch yet."""
        for voter, end in self._ends.items():
            if end < 0:
                self._out.append(Send(voter, BeginEpoch(self.me, self.election.epoch)))
        self.deadline = now + self._timeouts.fetch_s / 2 if self._ends else inf

    def _tick_as_leader(self, now: float) -> None:
        limit = self._timeouts.fetch_s * _CHECK_QUORUM
        near = sum(now - heard < limit for heard in self._heard.values())
        if 1 + near < self._majority:
            self._resign(now)
        else:
            self._announce(now)

    def _resign(self, now: float) -> None:
        if self.role is not Role.LEADER:
            return
        successors = tuple(sorted(self._ends, key=lambda voter: (-self._ends[voter], voter)))
        for voter in self._others():
            self._out.append(Send(voter, EndEpoch(self.me, self.election.epoch, successors)))
        self._enter(Role.RESIGNED, now + self._election_timeout())

    def _on_fetch_request(self, request: FetchRequest, now: float) -> None:
        self._learn(request.epoch, NO_NODE, now)
        epoch, leader = self.election.epoch, self.election.leader
        answer = partial(FetchResponse, self.me, epoch, leader, correlation=request.correlation)
        if self.role is not Role.LEADER or request.epoch < epoch:
            self._out.append(Send(request.sender, answer(refused=True)))
            return
        same_epoch, end = self.history.end_of(request.last_epoch)
        if request.offset > end or same_epoch != request.last_epoch:
            self._out.append(Send(request.sender, answer(diverging=(same_epoch, end))))
            return
        if request.sender in self._ends:
            self._heard[request.sender] = now
            self._ends[request.sender] = max(request.offset, self._ends[request.sender])
            self._advance()
        found = answer(offset=request.offset, high_watermark=self.high_watermark)
        self._out.append(SendRecords(request.sender, found))

    def _on_synced(self, end: int) -> None:
        self._synced = max(self._synced, min(end, self.history.end))
        if self.role is Role.LEADER:
            self._advance()
        elif self.role is Role.FOLLOWER:
            self._fetch()

    def _advance(self) -> None:
        ends = sorted([self._synced, *self._ends.values()], reverse=True)
        reached = ends[self._majority - 1]
        # A record of an older epoch is safe only below one of ours (Raft, 5.4.2).
        if reached > self._epoch_start and reached > self.high_watermark:
            self.high_watermark = reached
            self._out.append(Commit(reached))

    # Following.

    def _follow(self, now: float) -> None:
        self._fetching = False
        self._enter(Role.FOLLOWER, now + self._timeouts.fetch_s)
        self._fetch()

    def _fetch(self) -> None:
        """Ask from what is synced: the leader counts it as ours."""
        request = FetchRequest(
            self.me,
            self.election.epoch,
            self._synced,
            self.history.epoch_at(self._synced),
            self._next_correlation(),
        )
        self._out.append(Send(self.election.leader, request))

    def _on_fetch_response(self, response: FetchResponse, now: float) -> None:
        if response.correlation != self._asked:
            return
        self._learn(response.epoch, response.leader, now)
        current = response.epoch == self.election.epoch and response.sender == self.election.leader
        if self.role is not Role.FOLLOWER or not current or response.refused:
            return
        self._fetching = True
        self._asked = _NOTHING_ASKED
        self.deadline = now + self._timeouts.fetch_s
        if response.diverging is not None:
            self._cut(*response.diverging)
        elif response.offset == self.history.end:
            self._commit_up_to(response.high_watermark)
            self._out.append(AcceptRecords(response.offset))

    def _cut(self, epoch: int, end: int) -> None:
        end = min(end, self.history.end_of(epoch)[1])
        if end < self.high_watermark:
            raise InvariantError(
                f"leader {self.election.leader} asks to cut the metadata log to {end}, "
                f"below what is committed ({self.high_watermark})"
            )
        self.history.truncate(end)
        self._synced = min(self._synced, end)
        self._out.append(Truncate(end))
        self._fetch()

    def _commit_up_to(self, high_watermark: int) -> None:
        reached = min(high_watermark, self._synced)
        if reached > self.high_watermark:
            self.high_watermark = reached
            self._out.append(Commit(reached))

    def _on_end_epoch(self, event: EndEpoch, now: float) -> None:
        self._learn(event.epoch, event.sender, now)
        if self.role is Role.FOLLOWER and event.epoch == self.election.epoch:
            place = event.successors.index(self.me) if self.me in event.successors else 1
            self._fetching = False
            self.deadline = now + place * self._timeouts.backoff_s * (1 + self._jitter())

    # Small things.

    def _enter(self, role: Role, deadline: float) -> None:
        if self.role is Role.LEADER and role is not Role.LEADER:
            self._out.append(StepDown())
        self.role = role
        self.deadline = deadline if self.me in self.voters else inf
        self._votes = {}

    def _next_correlation(self) -> int:
        """The number of a new request, whose answers count from now on."""
        self._correlation += 1
        self._asked = self._correlation
        return self._asked

    def _save(self, election: Election) -> None:
        if election.epoch < self.election.epoch:
            raise InvariantError(f"epoch {election.epoch} after {self.election.epoch}")
        self.election = election
        self._out.append(Save(election))

    def _taken(self) -> list[Action]:
        out, self._out = self._out, []
        return out

    def _others(self) -> tuple[NodeId, ...]:
        return tuple(voter for voter in self.voters if voter != self.me)

    def _election_timeout(self) -> float:
        return self._timeouts.election_s * (1 + self._jitter())

    @property
    def _majority(self) -> int:
        return len(self.voters) // 2 + 1
