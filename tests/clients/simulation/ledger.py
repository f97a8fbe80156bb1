"""Answers that the clients of a run got, and the rules that only clients can break.

The rules of the broker's own simulation are `trio_kafka.testing.checkers`; these are about `sent`,
about groups that skip nothing, and about commits, automatic ones too.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from attrs import define, field

from tests.clients.simulation.spy import SentBytes
from trio_kafka.clients import ConsumerRecord
from trio_kafka.clients.consumer.values import OffsetAndMetadata
from trio_kafka.model import TopicPartition
from trio_kafka.testing.checkers import History

Values = Mapping[TopicPartition, Mapping[int, bytes | None]]
Bytes = bytes | None


@define
class FoundCommit:
    """A committed offset as the coordinator returned it. place: in the history, at the answer.

    requested_offsets: offsets that some member had asked to commit by then.
    """

    group: str
    at: TopicPartition
    offset: int
    place: int
    requested_offsets: frozenset[int]


@define(eq=False)
class Ledger:
    """Promises to producers, and what the members of groups have processed and committed.

    unsent: values of which a client has said that they are not stored. unclear: that they may be.
    leaving: as unclear, of producers that were closed meanwhile. processed: by group and
    place, the offsets with the place in the history. requested_offsets: offsets of commits by
    members that commit explicitly.
    """

    history: History
    bytes_sent: SentBytes
    unsent: set[bytes] = field(factory=set)
    unclear: set[bytes] = field(factory=set)
    leaving: set[bytes] = field(factory=set)
    acknowledged: set[bytes] = field(factory=set)
    processed: dict[str, dict[TopicPartition, dict[int, int]]] = field(
        factory=lambda: defaultdict(lambda: defaultdict(dict))
    )
    requested_offsets: dict[tuple[str, TopicPartition], set[int]] = field(
        factory=lambda: defaultdict(set)
    )
    commits: list[FoundCommit] = field(factory=list)

    def process(self, group: str, record: ConsumerRecord[Bytes, Bytes]) -> None:
        """Note that a member has processed a record."""
        at = TopicPartition(record.topic, record.partition)
        self.processed[group][at].setdefault(record.offset, self.history.mark())

    def find(self, group: str, offsets: Mapping[TopicPartition, OffsetAndMetadata | None]) -> None:
        """Note committed offsets that the coordinator has returned."""
        for at, offset in offsets.items():
            if offset is not None:
                commit_offsets = frozenset(self.requested_offsets[group, at])
                result = FoundCommit(group, at, offset.offset, self.history.mark(), commit_offsets)
                self.commits.append(result)

    def check_promises(self, raw: Values) -> None:
        """Check `sent` of all errors against the log with its aborted records, and the network."""
        stored = {value for rows in raw.values() for value in rows.values()}
        problems = [f"{value!r} was called unsent and is stored" for value in self.unsent & stored]
        problems += [
            f"{value!r} was called sent and never left"
            for value in self.unclear
            if value not in self.bytes_sent
        ]
        known_values = self.unsent | self.unclear | self.leaving | self.acknowledged
        problems += [f"{value!r} is stored and unknown" for value in stored - known_values if value]
        assert not problems, problems[:5]

    def check_group(self, group: str, log: Values) -> None:
        """Check that a group has processed all, and committed nothing before it was processed.

        log: committed records of the topics that the group reads.
        """
        processed = self.processed[group]
        skipped = [
            f"{group}: {at} {offset} was never processed"
            for at, rows in log.items()
            for offset in rows
            if offset not in processed[at]
        ]
        assert not skipped, skipped[:5]
        early = list(self._early_commits(group, log))
        assert not early, early[:5]

    def _early_commits(self, group: str, log: Values) -> Iterator[str]:
        for result in self.commits:
            if result.group != group:
                continue
            processed = self.processed[group][result.at]
            for offset in log.get(result.at, {}):
                if offset < result.offset and processed[offset] > result.place:
                    yield f"{group}: {result.at} {result.offset} committed before {offset} was done"

    def check_commits_were_asked_for(self, group: str) -> None:
        """Check that each committed offset is one that a member of the group asked to commit."""
        strange = [
            commit
            for commit in self.commits
            if commit.group == group and commit.offset not in commit.requested_offsets
        ]
        assert not strange, strange[:5]


def check_copied_once(source: Values, copies: Values) -> None:
    """Check that each committed record was copied exactly once, in the order of its partition."""
    expected_counts = Counter(value for rows in source.values() for value in rows.values())
    copied = Counter(value for rows in copies.values() for value in rows.values())
    assert copied == expected_counts, (copied - expected_counts, expected_counts - copied)
    for at, rows in source.items():
        expected = [rows[offset] for offset in sorted(rows)]
        place = next(other for other in copies if other.partition == at.partition)
        assert [copies[place][offset] for offset in sorted(copies[place])] == expected
