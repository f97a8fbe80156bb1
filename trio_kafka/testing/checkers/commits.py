"""Rules about committed offsets. Each returns its violations, in the order of the history."""

from collections import defaultdict

from trio_kafka.attributes import define
from trio_kafka.model import TopicPartition
from trio_kafka.testing.checkers.history import (
    CommitFound,
    CommitSent,
    Committed,
    History,
    Positioned,
    Read,
)
from trio_kafka.testing.checkers.violation import Violation

Key = tuple[str, TopicPartition]


def excess_commits(history: History) -> list[Violation]:
    """Check that a group commits no offset beyond what its members have read by then.

    An offset is within what was read if it is at most one above the last record read, or a position
    at which a member began.
    """
    violations = []
    read: dict[Key, int] = {}
    for event in history.events:
        if isinstance(event, Read | Positioned) and event.group is not None:
            end = event.offset + isinstance(event, Read)
            read[event.group, event.at] = max(read.get((event.group, event.at), 0), end)
        elif isinstance(event, CommitSent | Committed):
            end = read.get((event.group, event.at), 0)
            if event.offset > end:
                text = (
                    f"{event.consumer} of group {event.group} committed offset {event.offset} of"
                    f" {event.at}; the group had read up to {end}"
                )
                violations.append(
                    Violation(
                        rule="committed unread",
                        partition=event.at,
                        offsets=(end, event.offset),
                        text=text,
                    )
                )
                read[event.group, event.at] = event.offset  # once
    return violations


@define
class _Commits:
    """Commits of a group to one partition, each with its place in the history.

    pending: sent and not answered: each may take effect at any later time.
    """

    acknowledged: list[tuple[int, int]]
    pending: list[tuple[int, str, int]]


def lost_commits(history: History) -> list[Violation]:
    """Check that the coordinator returns the last acknowledged commit, or an unanswered one."""
    violations = []
    groups: dict[Key, _Commits] = defaultdict(lambda: _Commits([], []))
    for place, event in enumerate(history.events):
        if isinstance(event, CommitSent):
            groups[event.group, event.at].pending.append((place, event.consumer, event.offset))
        elif isinstance(event, Committed):
            commits = groups[event.group, event.at]
            commits.acknowledged.append((place, event.offset))
            for sent in commits.pending:
                if sent[1:] == (event.consumer, event.offset):
                    commits.pending.remove(sent)
                    break
        elif isinstance(event, CommitFound):
            commits = groups[event.group, event.at]
            violation = _lost(event, commits)
            if violation is not None:
                violations.append(violation)
    return violations


def _lost(answer: CommitFound, commits: _Commits) -> Violation | None:
    """Return the violation of an answer, if it is none of those that were possible."""
    before = [offset for place, offset in commits.acknowledged if place < answer.since]
    allowed = {offset for place, offset in commits.acknowledged if place >= answer.since}
    allowed |= {offset for _, _, offset in commits.pending}
    last = before[-1] if before else -1
    if answer.offset == last or answer.offset in allowed:
        return None
    text = (
        f"the coordinator returned offset {answer.offset} of {answer.at} for group {answer.group}"
    )
    text = f"{text}; the last acknowledged commit is {last}"
    if allowed:
        text = f"{text}, {sorted(allowed)} may have taken effect"
    return Violation(
        rule="commit lost", partition=answer.at, offsets=(last, answer.offset), text=text
    )
