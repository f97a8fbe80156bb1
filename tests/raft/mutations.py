"""Faults for the Raft machine, each a small patch: the random schedules must find every one.

Only tests apply them.
"""

from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve

from trio_kafka.model import NO_NODE
from trio_kafka.raft.core import Raft
from trio_kafka.raft.values import (
    AcceptRecords,
    Commit,
    Election,
    FetchRequest,
    FetchResponse,
    Role,
    Save,
    Truncate,
)

Plant = Callable[[pytest.MonkeyPatch], None]


def vote_twice(patch: pytest.MonkeyPatch) -> None:
    """A vote of this epoch does not keep a node from voting again."""
    would_vote = Raft._would_vote

    def mutant(raft: Raft, request: Any) -> bool:
        saved = raft.election
        raft.election = evolve(saved, voted=NO_NODE)
        try:
            return would_vote(raft, request)
        finally:
            raft.election = saved

    patch.setattr(Raft, "_would_vote", mutant)


def forget_votes(patch: pytest.MonkeyPatch) -> None:
    """A vote is sent and not saved."""
    save = Raft._save

    def mutant(raft: Raft, election: Election) -> None:
        save(raft, election)
        raft._actions[-1] = Save(evolve(election, voted=NO_NODE))

    patch.setattr(Raft, "_save", mutant)


def vote_for_shorter(patch: pytest.MonkeyPatch) -> None:
    """A vote does not depend on the candidate's log."""
    would_vote = Raft._would_vote

    def mutant(raft: Raft, request: Any) -> bool:
        return would_vote(raft, evolve(request, last_epoch=1 << 30))

    patch.setattr(Raft, "_would_vote", mutant)


def commit_older_epochs(patch: pytest.MonkeyPatch) -> None:
    """A leader commits records of older epochs without one of its own."""
    lead = Raft._lead

    def mutant(raft: Raft, now: float) -> None:
        lead(raft, now)
        raft._epoch_start = -1

    patch.setattr(Raft, "_lead", mutant)


def count_unsynced(patch: pytest.MonkeyPatch) -> None:
    """A leader counts what it has appended and not synced."""
    advance = Raft._advance

    def mutant(raft: Raft) -> None:
        synced, raft._synced = raft._synced, raft.history.end
        advance(raft)
        raft._synced = synced

    patch.setattr(Raft, "_advance", mutant)


def fetch_from_unsynced(patch: pytest.MonkeyPatch) -> None:
    """A follower asks from its end: the leader counts what is not synced."""
    fetch = Raft._fetch

    def mutant(raft: Raft) -> None:
        synced, raft._synced = raft._synced, raft.history.end
        fetch(raft)
        raft._synced = synced

    patch.setattr(Raft, "_fetch", mutant)


def small_majority(patch: pytest.MonkeyPatch) -> None:
    """Half of an even number, or less than half of an odd one, is a majority."""
    patch.setattr(Raft, "_majority", property(lambda raft: max(1, len(raft.voters) // 2)))


def never_diverge(patch: pytest.MonkeyPatch) -> None:
    """A leader answers a fetch without comparing the logs."""
    on_fetch_request = Raft._on_fetch_request

    def mutant(raft: Raft, request: FetchRequest, now: float) -> None:
        last_epoch = raft.history.epoch_at(min(request.offset, raft.history.end))
        offset = min(request.offset, raft.history.end)
        on_fetch_request(raft, evolve(request, last_epoch=last_epoch, offset=offset), now)

    patch.setattr(Raft, "_on_fetch_request", mutant)


def accept_late_answers(patch: pytest.MonkeyPatch) -> None:
    """Any response of the present epoch counts, whatever request it answers."""
    on_fetch_response = Raft._on_fetch_response

    def mutant(raft: Raft, response: FetchResponse, now: float) -> None:
        on_fetch_response(raft, evolve(response, correlation=raft._awaited), now)

    patch.setattr(Raft, "_on_fetch_response", mutant)


def lead_again(patch: pytest.MonkeyPatch) -> None:
    """A leader that comes back leads the same epoch."""
    start = Raft.start

    def mutant(raft: Raft, now: float) -> Any:
        if raft.election.leader == raft.me and len(raft.voters) > 1:
            raft._lead(now)
            return raft._take_actions()
        return start(raft, now)

    patch.setattr(Raft, "start", mutant)


def ignore_divergence(patch: pytest.MonkeyPatch) -> None:
    """A follower never cuts its log."""
    patch.setattr(Raft, "_truncate", lambda raft, epoch, end: raft._fetch())


def cut_too_much(patch: pytest.MonkeyPatch) -> None:
    """A follower cuts to the start of the diverging epoch."""
    cut = Raft._truncate

    def mutant(raft: Raft, epoch: int, end: int) -> None:
        del end
        cut(raft, epoch, 0)

    patch.setattr(Raft, "_truncate", mutant)


def accept_any_offset(patch: pytest.MonkeyPatch) -> None:
    """A follower appends records that do not continue its log."""
    step = Raft.step

    def mutant(raft: Raft, event: Any, now: float) -> Any:
        if isinstance(event, FetchResponse) and event.diverging is None:
            event = evolve(event, offset=raft.history.end)
        return step(raft, event, now)

    patch.setattr(Raft, "step", mutant)


def commit_unseen(patch: pytest.MonkeyPatch) -> None:
    """A follower takes over a high watermark that its log does not reach."""

    def mutant(raft: Raft, high_watermark: int) -> None:
        if high_watermark > raft.high_watermark:
            raft.high_watermark = high_watermark
            raft._actions.append(Commit(high_watermark))

    patch.setattr(Raft, "_commit_up_to", mutant)


def wait_for_votes_of_none(patch: pytest.MonkeyPatch) -> None:
    """A node that asks whether it would be elected waits for an answer, also without a peer."""
    count = Raft._count

    def mutant(raft: Raft, now: float) -> None:
        if raft.role is not Role.PROSPECTIVE or len(raft._votes) > 1:
            count(raft, now)

    patch.setattr(Raft, "_count", mutant)


def append_twice(patch: pytest.MonkeyPatch) -> None:
    """The records of an answer are appended twice."""
    take_actions = Raft._take_actions

    def mutant(raft: Raft) -> Any:
        out = take_actions(raft)
        return [action for action in out for _ in range(1 + isinstance(action, AcceptRecords))]

    patch.setattr(Raft, "_take_actions", mutant)


def forget_truncation(patch: pytest.MonkeyPatch) -> None:
    """The machine cuts its history, and does not tell the shell."""
    take_actions = Raft._take_actions
    patch.setattr(
        Raft,
        "_take_actions",
        lambda raft: [o for o in take_actions(raft) if not isinstance(o, Truncate)],
    )
