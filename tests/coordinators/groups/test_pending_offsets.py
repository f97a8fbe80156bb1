"""Offsets of transactions: which of them count, for any order of events."""

from hypothesis import given
from hypothesis import strategies as st

from tests.coordinators.groups.test_commits import offset_of, replay, simple, transactional
from trio_kafka.coordinators.groups.groups import Groups

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
            groups.end_transaction(producer, committed=kind == "commit")
            place = pending.pop(producer, None)
            if place is not None and kind == "commit":
                stored = max(place, stored or 0)

        assert offset_of(groups) == stored
        assert groups.offsets.pending.is_open("g", "t", 0) == bool(pending)
        assert groups.offsets.pending.has_group("g") == bool(pending)
