"""The table of transitions: Kafka's, and no way out of a state but those in it."""

from trio_kafka.coordinators.transactions.states import (
    IDLE,
    PREPARED,
    STORED_NUMBERS,
    TRANSITIONS,
    TransactionEvent,
    TransactionState,
)


def test_markers_are_followed_by_the_complete_state_of_the_same_decision() -> None:
    after = {state: TRANSITIONS[state, TransactionEvent.MARKERS_WRITTEN] for state in PREPARED}

    assert {state.name.replace("PREPARE", "COMPLETE") for state in PREPARED} == {
        state.name for state in after.values()
    }
    assert all(
        before.name.endswith(state.name.removeprefix("COMPLETE")) for before, state in after.items()
    )


def test_nothing_but_markers_leads_out_of_a_prepared_state() -> None:
    events = {event for state, event in TRANSITIONS if state in PREPARED}

    assert events == {TransactionEvent.MARKERS_WRITTEN}


def test_states_without_a_transaction_have_the_same_ways_out() -> None:
    ways = {
        state: {event: after for (before, event), after in TRANSITIONS.items() if before is state}
        for state in IDLE
    }

    assert len({tuple(each.items()) for each in ways.values()}) == 1


def test_states_that_are_never_stored_are_never_entered() -> None:
    assert set(TRANSITIONS.values()) <= set(STORED_NUMBERS)
    assert TransactionState.DEAD not in STORED_NUMBERS
    assert [STORED_NUMBERS[state] for state in TransactionState if state in STORED_NUMBERS] == list(
        range(6)
    )
