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
    """A group commits no offset beyond what its members have read by then.

    An offset is within what was read if it is at most one above the last record read, or a position
    at which a member began.
    """
    found = []
    read: dict[Key, int] = {}
    for one in history.events:
        if isinstance(one, Read | Positioned) and one.group is not None:
            end = one.offset + isinstance(one, Read)
            read[one.group, one.at] = max(read.get((one.group, one.at), 0), end)
        elif isinstance(one, CommitSent | Committed):
            end = read.get((one.group, one.at), 0)
            if one.offset > end:
                text = (
                    f"{one.consumer} of group {one.group} committed offset {one.offset} of"
                    f" {one.at}; the group had read up to {end}"
                )
                found.append(Violation("committed unread", one.at, (end, one.offset), text))
                read[one.group, one.at] = one.offset  # once
    return found


@define
class _Known:
    """Commits of a group to one partition, each with its place in the history.

    pending: sent and not answered: each may take effect at any later time.
    """

    acknowledged: list[tuple[int, int]]
    pending: list[tuple[int, str, int]]


def lost_commits(history: History) -> list[Violation]:
    """The coordinator returns the last acknowledged commit, or one that was not answered."""
    found = []
    groups: dict[Key, _Known] = defaultdict(lambda: _Known([], []))
    for place, one in enumerate(history.events):
        if isinstance(one, CommitSent):
            groups[one.group, one.at].pending.append((place, one.consumer, one.offset))
        elif isinstance(one, Committed):
            known = groups[one.group, one.at]
            known.acknowledged.append((place, one.offset))
            for sent in known.pending:
                if sent[1:] == (one.consumer, one.offset):
                    known.pending.remove(sent)
                    break
        elif isinstance(one, CommitFound):
            known = groups[one.group, one.at]
            violation = _lost(one, known)
            if violation is not None:
                found.append(violation)
    return found


def _lost(one: CommitFound, known: _Known) -> Violation | None:
    """Return the violation of an answer, if it is none of those that were possible."""
    before = [offset for place, offset in known.acknowledged if place < one.since]
    allowed = {offset for place, offset in known.acknowledged if place >= one.since}
    allowed |= {offset for _, _, offset in known.pending}
    last = before[-1] if before else -1
    if one.offset == last or one.offset in allowed:
        return None
    text = f"the coordinator returned offset {one.offset} of {one.at} for group {one.group}"
    text = f"{text}; the last acknowledged commit is {last}"
    if allowed:
        text = f"{text}, {sorted(allowed)} may have taken effect"
    return Violation("commit lost", one.at, (last, one.offset), text)
