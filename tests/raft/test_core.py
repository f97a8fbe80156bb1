"""The Raft machine: a quorum of one step by step, larger ones under any order of events."""

from math import inf

import pytest
from attrs import evolve

from trio_kafka.errors import InvariantError
from trio_kafka.model import NO_NODE, NodeId
from trio_kafka.raft.core import Raft
from trio_kafka.raft.history import History
from trio_kafka.raft.values import (
    AcceptRecords,
    Action,
    Appended,
    Commit,
    Election,
    FetchRequest,
    FetchResponse,
    Lead,
    Resign,
    Role,
    Save,
    Send,
    StepDown,
    Synced,
    Tick,
    Timeouts,
    VoteRequest,
    VoteResponse,
)

NODE_1 = NodeId(1)


def quorum_of_one(election: Election | None = None, end: int = 0, epoch: int = 0) -> Raft:
    return Raft(
        me=NODE_1,
        voters=(NODE_1,),
        election=election or Election(),
        history=History.of([(epoch, 0)] if end else [], end),
        timeouts=Timeouts(),
        jitter=lambda: 0.5,
    )


def test_quorum_of_one_voter_saves_its_vote_and_leads_at_once() -> None:
    raft = quorum_of_one()

    actions = raft.start(0.0)

    assert actions == [Save(Election(1, NO_NODE, NODE_1)), Save(Election(1, NODE_1)), Lead(1)]
    assert raft.role is Role.LEADER
    assert raft.deadline == inf


def test_restarted_leader_leads_a_new_epoch() -> None:
    raft = quorum_of_one(Election(7, NODE_1), end=20, epoch=7)

    actions = raft.start(0.0)

    assert actions[-1] == Lead(8)


def test_quorum_of_one_voter_commits_synced_records() -> None:
    raft = quorum_of_one()
    raft.start(0.0)

    assert raft.step(Appended(3, 1), 0.0) == []
    assert raft.step(Synced(2), 0.0) == [Commit(2)]
    assert raft.step(Appended(5, 1), 0.0) == []
    assert raft.step(Synced(5), 0.0) == [Commit(5)]
    assert raft.high_watermark == 5


def test_records_of_older_epochs_are_committed_only_with_a_record_of_the_new_epoch() -> None:
    raft = quorum_of_one(Election(1, NODE_1), end=10, epoch=1)
    raft.start(0.0)

    assert raft.step(Synced(10), 0.0) == []
    raft.step(Appended(11, 2), 0.0)
    assert raft.step(Synced(11), 0.0) == [Commit(11)]


def test_a_leader_that_resigns_steps_down_and_keeps_its_epoch() -> None:
    raft = quorum_of_one()
    raft.start(0.0)

    assert raft.step(Resign(), 1.0) == [StepDown()]
    assert raft.role is Role.RESIGNED
    assert raft.election == Election(1, NODE_1)


def voter(end: int = 0, epoch: int = 0, election: Election | None = None) -> Raft:
    return Raft(
        me=NODE_1,
        voters=(NODE_1, NodeId(2), NodeId(3)),
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


def granted(actions: list[Action]) -> VoteResponse:
    """Node 3 grants what these actions ask for."""
    request = next(
        action.message
        for action in actions
        if isinstance(action, Send) and isinstance(action.message, VoteRequest)
    )
    return VoteResponse(
        NodeId(3),
        request.epoch,
        NO_NODE,
        granted=True,
        pre_vote=request.pre_vote,
        correlation=request.correlation,
    )


def asked_for(actions: list[Action]) -> FetchRequest:
    """The fetch among these actions."""
    (request,) = [
        action.message
        for action in actions
        if isinstance(action, Send) and isinstance(action.message, FetchRequest)
    ]
    return request


def test_vote_is_granted_once_per_epoch_and_saved_before_the_response() -> None:
    raft = voter()
    raft.start(0.0)

    actions = raft.step(VoteRequest(NodeId(2), 1, 0, 0, pre_vote=False), 0.1)
    again = answer_to(raft, VoteRequest(NodeId(2), 1, 0, 0, pre_vote=False))
    other = answer_to(raft, VoteRequest(NodeId(3), 1, 9, 1, pre_vote=False))

    assert isinstance(actions[-1], Send)
    assert actions[-2] == Save(Election(1, NO_NODE, NodeId(2)))
    assert again.granted
    assert not other.granted


def test_vote_for_a_candidate_with_a_shorter_log_is_refused() -> None:
    raft = voter(end=10, epoch=3)
    raft.start(0.0)

    assert not answer_to(raft, VoteRequest(NodeId(2), 4, 9, 3, pre_vote=False)).granted
    assert not answer_to(raft, VoteRequest(NodeId(2), 5, 99, 2, pre_vote=False)).granted
    assert answer_to(raft, VoteRequest(NodeId(2), 6, 10, 3, pre_vote=False)).granted


def test_follower_of_a_live_leader_refuses_a_pre_vote() -> None:
    raft = voter(election=Election(3, NodeId(2)))
    raft.start(0.0)
    raft.step(FetchResponse(NodeId(2), 3, NodeId(2)), 0.1)

    assert not answer_to(raft, VoteRequest(NodeId(3), 3, 50, 3, pre_vote=True)).granted


def test_voter_starts_an_election_only_after_a_majority_grants_its_pre_vote() -> None:
    raft = voter(election=Election(3, NodeId(2)))
    raft.start(0.0)

    actions = raft.step(Tick(), 2.0)
    stands = raft.step(granted(actions), 2.1)

    assert raft.election == Election(4, NO_NODE, NODE_1)
    assert {action.message.epoch for action in actions if isinstance(action, Send)} == {3}
    assert {action.message.epoch for action in stands if isinstance(action, Send)} == {4}


def test_late_response_to_an_earlier_fetch_is_ignored() -> None:
    raft = voter(end=10, epoch=2, election=Election(3, NodeId(2)))
    first = asked_for(raft.start(0.0))
    second = asked_for(raft.step(Synced(10), 0.1))

    late = FetchResponse(NodeId(2), 3, NodeId(2), diverging=(2, 4), correlation=first.correlation)
    assert raft.step(late, 0.2) == []
    assert raft.history.end == 10

    raft.step(evolve(late, correlation=second.correlation), 0.3)
    assert raft.history.end == 4


def test_repeated_fetch_response_is_ignored() -> None:
    raft = voter(end=10, epoch=3, election=Election(3, NodeId(2)))
    request = asked_for(raft.start(0.0))
    answer = FetchResponse(NodeId(2), 3, NodeId(2), 10, 5, correlation=request.correlation)

    assert raft.step(answer, 0.1) == [Commit(5), AcceptRecords(10)]
    assert raft.step(answer, 0.2) == []


def test_late_vote_does_not_count_in_a_later_election() -> None:
    raft = voter()
    raft.start(0.0)
    vote = granted(raft.step(Tick(), 2.0))
    raft.step(Tick(), raft.deadline)
    raft.step(Tick(), raft.deadline)
    assert raft.role is Role.PROSPECTIVE

    assert raft.step(vote, raft.deadline) == []
    assert raft.role is Role.PROSPECTIVE


def test_truncation_below_the_high_watermark_breaks_an_invariant() -> None:
    raft = voter(end=10, epoch=3, election=Election(3, NodeId(2)))
    request = asked_for(raft.start(0.0))
    raft.step(FetchResponse(NodeId(2), 3, NodeId(2), 10, 10, correlation=request.correlation), 0.1)
    request = asked_for(raft.step(Synced(10), 0.2))

    with pytest.raises(InvariantError, match=r"below the high watermark 10"):
        raft.step(
            FetchResponse(
                NodeId(2), 3, NodeId(2), diverging=(3, 9), correlation=request.correlation
            ),
            0.3,
        )


def test_resigned_quorum_of_one_voter_leads_again_in_a_new_epoch() -> None:
    raft = quorum_of_one()
    raft.start(0.0)
    raft.step(Resign(), 1.0)

    assert raft.deadline < inf
    actions = raft.step(Tick(), raft.deadline)

    assert actions == [Save(Election(2, NO_NODE, NODE_1)), Save(Election(2, NODE_1)), Lead(2)]
    assert raft.deadline == inf


def test_election_with_an_epoch_below_that_of_the_log_is_refused() -> None:
    with pytest.raises(InvariantError, match="epoch 1 of a log with epoch 4"):
        quorum_of_one(Election(1), end=3, epoch=4)

    assert Election(1, NODE_1, NODE_1).at_least(4) == Election(4)
    assert Election(4, NODE_1).at_least(4) == Election(4, NODE_1)


def test_node_named_as_leader_of_a_later_epoch_grants_no_vote_in_that_epoch() -> None:
    raft = voter()
    raft.start(0.0)

    request = VoteRequest(NodeId(2), 7, 0, 0, pre_vote=False)
    raft.step(Tick(), 2.0)
    response = VoteResponse(NodeId(3), 7, NODE_1, granted=False, pre_vote=True, correlation=0)
    raft.step(response, 2.1)

    assert raft.election == Election(7, NO_NODE, NODE_1)
    assert not answer_to(raft, request, 2.2).granted


def test_a_leader_without_a_majority_steps_down() -> None:
    raft = voter()
    raft.start(0.0)
    vote_actions = raft.step(Tick(), 2.0)
    vote_actions = raft.step(granted(vote_actions), 2.1)
    raft.step(granted(vote_actions), 2.2)
    assert raft.role is Role.LEADER

    while raft.role is Role.LEADER:
        now = raft.deadline
        actions = raft.step(Tick(), now)

    assert now >= 2.2 + 3.0
    assert actions[-1] == StepDown()
    assert raft.role is Role.RESIGNED
