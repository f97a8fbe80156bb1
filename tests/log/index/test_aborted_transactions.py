"""Columns of aborted transactions find what a search of each would find."""

from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.log.index.aborted_transactions import AbortedTransaction, AbortedTransactions


@st.composite
def histories(draw: st.DrawFn) -> list[AbortedTransaction]:
    """Aborts of overlapping transactions, as a log notes them."""
    entries: list[AbortedTransaction] = []
    open_since: dict[int, int] = {}
    for offset in range(draw(st.integers(0, 40))):
        producer_id = draw(st.integers(1, 4))
        first = open_since.pop(producer_id, None)
        if first is None:
            open_since[producer_id] = offset
        elif draw(st.booleans()):
            stable = min(open_since.values(), default=offset + 1)
            entries.append(
                AbortedTransaction(
                    producer_id=producer_id,
                    first_offset=first,
                    last_offset=offset,
                    last_stable_offset=stable,
                )
            )
    return entries


def found_one_by_one(
    entries: list[AbortedTransaction], first: int, end: int
) -> tuple[list[AbortedTransaction], bool]:
    aborted = []
    for entry in entries:
        if entry.last_offset >= first and entry.first_offset < end:
            aborted.append(entry)
        if entry.last_offset >= first and entry.last_stable_offset >= end:
            return aborted, True
    return aborted, False


@given(histories(), st.integers(0, 42), st.integers(0, 42))
def test_transactions_between_two_offsets_are_those_of_a_search_one_by_one(
    entries: list[AbortedTransaction], first: int, end: int
) -> None:
    aborted, is_complete = AbortedTransactions(entries).between(first, end)

    assert (list(aborted), is_complete) == found_one_by_one(entries, first, end)
