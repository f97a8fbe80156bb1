"""Rules about transactions: correct histories pass, each kind of mutation is found."""

from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.testing.checkers.transactional import MUTATIONS, Mutation, correct_run
from trio_kafka.model import TopicPartition
from trio_kafka.testing.checkers import (
    BrokenGuaranteeError,
    History,
    aborted_reads,
    check_history,
    early_reads,
    find_violations,
    torn_transactions,
)

T0 = TopicPartition("t", 0)
OUTCOMES = st.lists(
    st.sampled_from(["commit", "commit", "abort", "lost", "unknown", "none"]), max_size=12
)


@given(OUTCOMES, st.integers(0, 1 << 32))
def test_correct_history_passes(outcomes: list[str], seed: int) -> None:
    run = correct_run(outcomes, seed)

    assert find_violations(run.history, run.log) == []


@pytest.mark.parametrize("mutation", MUTATIONS)
@given(outcomes=OUTCOMES, seed=st.integers(0, 1 << 32))
def test_each_kind_of_mutation_is_found(mutation: Mutation, outcomes: list[str], seed: int) -> None:
    run = correct_run([*outcomes, "commit", "abort", "commit", "lost", "commit"], seed)

    rule = mutation(run, Random(seed))

    assume(rule is not None)
    assert rule in {violation.rule for violation in find_violations(run.history, run.log)}


def test_record_of_an_aborted_transaction_is_reported_with_its_reader() -> None:
    history = History()
    noted = history.transaction("p")
    noted.sent("t", "tea")
    noted.acknowledged("t", 0, "tea", offset=4)
    noted.committing()
    noted.aborted()
    history.read("c", "t", 0, "tea", offset=4)

    (violation,) = aborted_reads(history, {})

    assert str(violation) == (
        "aborted read: 'tea' at offset 4 of t-0 was read by c; its transaction p#1 was aborted"
    )


def test_record_of_a_transaction_without_a_commit_request_must_not_be_in_the_log() -> None:
    history = History()
    history.transaction("p").sent("t", "tea")

    (violation,) = aborted_reads(history, {T0: {7: "tea"}})

    assert "p#1 was never committed" in violation.text
    assert "among the committed records of the log" in violation.text


def test_record_that_was_sent_again_after_an_abort_may_be_seen() -> None:
    history = History()
    history.transaction("p").sent("t", "tea")
    second = history.transaction("p")
    second.sent("t", "tea")
    second.committing()
    second.committed()
    history.read("c", "t", 0, "tea", offset=4)

    check_history(history, {T0: {4: "tea"}})


def test_read_before_the_commit_is_reported_although_the_commit_follows() -> None:
    history = History()
    noted = history.transaction("p")
    noted.sent("t", "tea")
    history.read("c", "t", 0, "tea", offset=0)
    noted.committing()
    noted.committed()

    (violation,) = early_reads(history)

    assert violation.text == (
        "c read 'tea' at offset 0 of t-0 before the commit of its transaction p#1"
    )


def test_transaction_of_unknown_outcome_is_seen_as_a_whole_or_not_at_all() -> None:
    history = History()
    noted = history.transaction("p")
    for number, record in enumerate(["tea", "milk"]):
        noted.sent("t", record, partition=number)
    noted.acknowledged("t", 0, "tea", offset=3)
    noted.acknowledged("t", 1, "milk")
    noted.committing()
    milk = {TopicPartition("t", 1): {8: "milk"}}

    assert torn_transactions(history, {}) == []
    assert torn_transactions(history, {T0: {3: "tea"}, **milk}) == []
    (violation,) = torn_transactions(history, milk)

    assert violation.text == (
        "transaction p#1 is in the log with 1 of 2 records; 'tea' at offset 3 of t-0 is not"
    )


def test_check_history_raises_for_a_torn_transaction() -> None:
    run = correct_run(["commit", "lost", "commit"], 3)
    place, offset = run.unknown[0][0]
    run.log[place].pop(offset)

    with pytest.raises(BrokenGuaranteeError):
        check_history(run.history, run.log)
