"""The Raft machine: a quorum of one step by step, larger ones under any order of events."""

from collections.abc import Iterable
from math import inf
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trio_kafka.model import NO_NODE, NodeId
from trio_kafka.raft.core import Raft
from trio_kafka.raft.history import History
from trio_kafka.raft.values import (
    AcceptRecords,
    Action,
    Appended,
    Commit,
    Election,
    FetchResponse,
    Lead,
    Message,
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

ONE = NodeId(1)


def quorum_of_one(election: Election | None = None, end: int = 0, epoch: int = 0) -> Raft:
    return Raft(
        me=ONE,
        voters=(ONE,),
        election=election or Election(),
        history=History.of([(epoch, 0)] if end else [], end),
        timeouts=Timeouts(),
        jitter=lambda: 0.5,
    )


def test_a_quorum_of_one_elects_itself_at_once_and_saves_its_vote_first() -> None:
    raft = quorum_of_one()

    actions = raft.start(0.0)

    assert actions == [Save(Election(1, NO_NODE, ONE)), Save(Election(1, ONE)), Lead(1)]
    assert raft.role is Role.LEADER
    assert raft.deadline == inf


def test_a_leader_that_comes_back_leads_a_new_epoch() -> None:
    raft = quorum_of_one(Election(7, ONE), end=20, epoch=7)

    actions = raft.start(0.0)

    assert actions[-1] == Lead(8)


def test_in_a_quorum_of_one_committed_is_what_is_synced() -> None:
    raft = quorum_of_one()
    raft.start(0.0)

    assert raft.step(Appended(3, 1), 0.0) == []
    assert raft.step(Synced(2), 0.0) == [Commit(2)]
    assert raft.step(Appended(5, 1), 0.0) == []
    assert raft.step(Synced(5), 0.0) == [Commit(5)]
    assert raft.high_watermark == 5


def test_nothing_is_committed_before_a_record_of_the_new_epoch_is() -> None:
    raft = quorum_of_one(Election(1, ONE), end=10, epoch=1)
    raft.start(0.0)

    assert raft.step(Synced(10), 0.0) == []
    raft.step(Appended(11, 2), 0.0)
    assert raft.step(Synced(11), 0.0) == [Commit(11)]


def test_a_leader_that_resigns_steps_down_and_keeps_its_epoch() -> None:
    raft = quorum_of_one()
    raft.start(0.0)

    assert raft.step(Resign(), 1.0) == [StepDown()]
    assert raft.role is Role.RESIGNED
    assert raft.election == Election(1, ONE)


def voter(end: int = 0, epoch: int = 0, election: Election | None = None) -> Raft:
    return Raft(
        me=ONE,
        voters=(ONE, NodeId(2), NodeId(3)),
        election=election or Election(epoch),
        history=History.of([(epoch, 0)] if end else [], end),
        timeouts=Timeouts(),
        jitter=lambda: 0.5,
    )


def answer_to(raft: Raft, request: VoteRequest, now: float = 0.1) -> VoteResponse:
    sent = [action for action in raft.step(request, now) if isinstance(action, Send)]
    assert len(sent) == 1
    assert isinstance(sent[0].message, VoteResponse)
    return sent[0].message


def test_a_vote_is_given_once_an_epoch_and_saved_before_it_is_sent() -> None:
    raft = voter()
    raft.start(0.0)

    actions = raft.step(VoteRequest(NodeId(2), 1, 0, 0, pre_vote=False), 0.1)
    again = answer_to(raft, VoteRequest(NodeId(2), 1, 0, 0, pre_vote=False))
    other = answer_to(raft, VoteRequest(NodeId(3), 1, 9, 1, pre_vote=False))

    assert isinstance(actions[-1], Send)
    assert actions[-2] == Save(Election(1, NO_NODE, NodeId(2)))
    assert again.granted
    assert not other.granted


def test_no_vote_goes_to_a_shorter_log() -> None:
    raft = voter(end=10, epoch=3)
    raft.start(0.0)

    assert not answer_to(raft, VoteRequest(NodeId(2), 4, 9, 3, pre_vote=False)).granted
    assert not answer_to(raft, VoteRequest(NodeId(2), 5, 99, 2, pre_vote=False)).granted
    assert answer_to(raft, VoteRequest(NodeId(2), 6, 10, 3, pre_vote=False)).granted


def test_a_follower_that_hears_its_leader_grants_no_pre_vote() -> None:
    raft = voter(election=Election(3, NodeId(2)))
    raft.start(0.0)
    raft.step(FetchResponse(NodeId(2), 3, NodeId(2)), 0.1)

    assert not answer_to(raft, VoteRequest(NodeId(3), 3, 50, 3, pre_vote=True)).granted


def test_a_silent_leader_is_replaced_only_after_a_majority_would_vote() -> None:
    raft = voter(election=Election(3, NodeId(2)))
    raft.start(0.0)

    asked = raft.step(Tick(), 2.0)
    stands = raft.step(VoteResponse(NodeId(3), 3, NO_NODE, granted=True, pre_vote=True), 2.1)

    assert raft.election == Election(4, NO_NODE, ONE)
    assert {action.message.epoch for action in asked if isinstance(action, Send)} == {3}
    assert {action.message.epoch for action in stands if isinstance(action, Send)} == {4}


def test_a_leader_without_a_majority_steps_down() -> None:
    raft = voter()
    raft.start(0.0)
    raft.step(Tick(), 2.0)
    raft.step(VoteResponse(NodeId(3), 0, NO_NODE, granted=True, pre_vote=True), 2.1)
    raft.step(VoteResponse(NodeId(3), 1, NO_NODE, granted=True, pre_vote=False), 2.2)
    assert raft.role is Role.LEADER

    while raft.role is Role.LEADER:
        now = raft.deadline
        actions = raft.step(Tick(), now)

    assert now >= 2.2 + 3.0
    assert actions[-1] == StepDown()
    assert raft.role is Role.RESIGNED


class Node:
    """One machine with its log; the shell's part played in the plainest way."""

    def __init__(self, name: NodeId, cluster: "Cluster") -> None:
        self.name = name
        self.cluster = cluster
        self.log: list[int] = []  # the epoch of each record
        self.synced = 0
        self.saved = Election()
        self.live()

    def live(self) -> None:
        del self.log[self.synced :]
        history = History()
        for end, epoch in enumerate(self.log, 1):
            history.append(end, epoch)
        self.raft = Raft(
            me=self.name,
            voters=self.cluster.names,
            election=self.saved,
            history=history,
            timeouts=Timeouts(),
            jitter=self.cluster.chance,
        )
        self.perform(self.raft.start(self.cluster.now), None)

    def append(self, epochs: Iterable[int]) -> None:
        for epoch in epochs:
            self.log.append(epoch)
            self.step(Appended(len(self.log), epoch))

    def sync(self) -> None:
        self.synced = len(self.log)
        self.step(Synced(self.synced))

    def step(self, event: object, records: tuple[int, ...] | None = None) -> None:
        self.perform(self.raft.step(event, self.cluster.now), records)  # type: ignore[arg-type]

    def perform(self, actions: list[Action], records: tuple[int, ...] | None) -> None:
        for action in actions:
            match action:
                case Save(election):
                    self.saved = election
                case Send(to, message):
                    self.cluster.sent.append((to, message, ()))
                case SendRecords(to, response):
                    batch = tuple(self.log[response.offset : response.offset + 3])
                    self.cluster.sent.append((to, response, batch))
                case AcceptRecords(offset):
                    assert offset == len(self.log)
                    self.append(records or ())
                case Truncate(end):
                    del self.log[end:]
                    self.synced = min(self.synced, end)
                case Lead(epoch):
                    self.cluster.has_leader(epoch, self.name)
                    self.append([epoch])
                case Commit(high_watermark):
                    self.cluster.is_committed(self.log[:high_watermark])


class Cluster:
    """Nodes, what is on its way between them, and what must never happen."""

    def __init__(self, size: int, seed: int) -> None:
        self.now = 0.0
        self.names = tuple(NodeId(n) for n in range(1, size + 1))
        self.sent: list[tuple[NodeId, Message, tuple[int, ...]]] = []
        self.leaders: dict[int, NodeId] = {}
        self.committed: list[int] = []
        self._seed = seed
        self.nodes = {name: Node(name, self) for name in self.names}

    def chance(self) -> float:
        self._seed = (self._seed * 1103515245 + 12345) % 2**31
        return self._seed / 2**31

    def has_leader(self, epoch: int, name: NodeId) -> None:
        assert self.leaders.setdefault(epoch, name) == name

    def is_committed(self, log: list[int]) -> None:
        shorter = min(len(log), len(self.committed))
        assert log[:shorter] == self.committed[:shorter]
        if len(log) > len(self.committed):
            self.committed = list(log)

    def deliver(self, index: int, *, keep: bool = False) -> None:
        if self.sent:
            index %= len(self.sent)
            to, message, records = self.sent[index] if keep else self.sent.pop(index)
            self.nodes[to].step(message, records)

    def settle(self) -> None:
        """Deliver all, in order, and let time pass, until somebody leads and all are level."""
        for _ in range(60):
            for _ in range(400):
                if not self.sent:
                    break
                self.deliver(0)
                for node in self.nodes.values():
                    if node.synced < len(node.log):
                        node.sync()
            leading = [node for node in self.nodes.values() if node.raft.role is Role.LEADER]
            if leading and all(node.log == leading[0].log for node in self.nodes.values()):
                return
            self.now += 0.4
            for node in self.nodes.values():
                node.step(Tick())
                if node.raft.role is Role.FOLLOWER:
                    node.step(Synced(node.synced))  # a lost fetch is sent again


KINDS = {
    "deliver": 30,
    "pick": 6,
    "repeat": 2,
    "drop": 2,
    "tick": 6,
    "commit": 10,
    "sync": 10,
    "again": 6,
    "crash": 1,
    "resign": 1,
}


def apply(cluster: Cluster, kind: str, number: int) -> None:
    node = cluster.nodes[cluster.names[number % len(cluster.names)]]
    match kind:
        case "deliver":
            for _ in range(number % 4):
                cluster.deliver(0)
        case "pick" | "repeat":
            cluster.deliver(number, keep=kind == "repeat")
        case "again":
            if node.raft.role is Role.FOLLOWER:
                node.step(Synced(node.synced))
        case "drop":
            if cluster.sent:
                cluster.sent.pop(number % len(cluster.sent))
        case "tick":
            cluster.now = max(cluster.now, min(node.raft.deadline, cluster.now + 5.0))
            node.step(Tick())
        case "commit":
            if node.raft.role is Role.LEADER:
                node.append([node.raft.election.epoch])
        case "sync":
            node.sync()
        case "crash":
            node.live()
        case "resign":
            node.step(Resign())


@given(st.sampled_from([1, 3, 3, 5]), st.integers(0, 2**30))
@settings(max_examples=40, deadline=None)
@pytest.mark.slow
def test_no_order_of_events_elects_two_leaders_or_loses_what_was_committed(
    size: int, seed: int
) -> None:
    chance = Random(seed)
    cluster = Cluster(size, seed)
    kinds = chance.choices(list(KINDS), weights=list(KINDS.values()), k=400)
    for kind in kinds:
        apply(cluster, kind, chance.randrange(60))

    cluster.settle()

    for node in cluster.nodes.values():
        assert node.log[: len(cluster.committed)] == cluster.committed
    assert cluster.leaders
