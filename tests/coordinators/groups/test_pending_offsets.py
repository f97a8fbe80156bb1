"""Offsets of transactions: which of them count, for any order of events."""

from hypothesis import given
from hypothesis import strategies as st

from tests.coordinators.groups.test_commits import offset_of, replay, simple, transactional
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.shards.effects import CoordinatorRecord
from trio_kafka.protocol.stored.groups.classic import OffsetCommitKey, OffsetCommitValue
from trio_kafka.scheduling.chunked_work import whole

# Kafka's own rule: an offset of a record is stored with the place of the record in the log, and
# replaces what has a lower one.
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("regular"), st.integers(1, 3)),
        st.tuples(st.just("pending"), st.integers(1, 3)),
        st.tuples(st.just("commit"), st.integers(1, 3)),
        st.tuples(st.just("abort"), st.integers(1, 3)),
        st.tuples(st.just("delete"), st.integers(1, 1)),
    ),
    max_size=30,
)


@given(EVENTS)
def test_offset_of_the_later_record_wins_whatever_the_order_of_the_markers(
    events: list[tuple[str, int]],
) -> None:
    groups = Groups(simple=simple)
    stored: int | None = None
    pending: dict[int, int] = {}

    for at, (kind, producer) in enumerate(events, 1):
        if kind == "regular":
            replay(groups, at)
            stored = at
        elif kind == "pending":
            transactional(groups, producer, at)
            pending[producer] = at
        elif kind == "delete":
            replay(groups, None)
            stored, pending = None, {}
        else:
            whole(groups.end_transaction(producer, committed=kind == "commit"))
            place = pending.pop(producer, None)
            if place is not None and kind == "commit":
                stored = max(place, stored or 0)

        assert offset_of(groups) == stored
        assert groups.offsets.pending.is_open("g", "t", 0) == bool(pending)
        assert groups.offsets.pending.has_group("g") == bool(pending)


def test_pending_offsets_are_counted_by_group_until_their_transactions_end() -> None:
    groups = Groups(simple=simple)
    pending, value = groups.offsets.pending, OffsetCommitValue(1)
    for producer, group, partition in ((1, "g", 0), (2, "g", 0), (1, "g", 1), (1, "h", 0)):
        pending.add(producer, OffsetCommitKey(group, "t", partition), value)
    assert set(pending.of_group("g")) == {("t", 0), ("t", 1)}
    assert set(pending.of_group("h")) == {("t", 0)}

    whole(pending.end(1, committed=True))

    assert (set(pending.of_group("g")), pending.has_group("h")) == ({("t", 0)}, False)
    pending.forget(OffsetCommitKey("g", "t", 0))
    pending.forget(OffsetCommitKey("g", "t", 0))
    assert (pending.has_group("g"), pending.open) == (False, 0)


def test_many_offsets_of_a_transaction_are_committed_in_steps() -> None:
    groups = Groups(simple=simple)
    for partition in range(10_000):
        key = OffsetCommitKey("g", "t", partition)
        groups.replay_transactional(7, CoordinatorRecord(key, OffsetCommitValue(partition)))

    pauses = sum(1 for _ in groups.end_transaction(7, committed=True))

    assert pauses == 50
    assert groups.offsets.count == 10_000
    assert not groups.offsets.pending.has_group("g")
