"""Outcomes of noted transactions, and the transactions that a record may be part of."""

from trio_kafka.model import TopicPartition
from trio_kafka.testing.checkers.history import History
from trio_kafka.testing.checkers.outcomes import Outcome, outcomes_of

T0 = TopicPartition("t", 0)


def test_outcome_is_the_last_answer_that_the_client_got() -> None:
    history = History()
    for steps in ([], ["committing"], ["committing", "committed"], ["aborted"]):
        noted = history.transaction("p")
        noted.sent("t", noted.name)
        for step in steps:
            getattr(noted, step)()

    by_name = outcomes_of(history).by_name

    assert {name: transaction.outcome for name, transaction in by_name.items()} == {
        "p#1": Outcome.OPEN,
        "p#2": Outcome.UNKNOWN,
        "p#3": Outcome.COMMITTED,
        "p#4": Outcome.ABORTED,
    }
    assert [transaction.may_be_seen for transaction in by_name.values()] == [
        False,
        True,
        True,
        False,
    ]


def test_acknowledged_offset_decides_between_transactions_with_the_same_record() -> None:
    history = History()
    first, second = history.transaction("p"), history.transaction("q")
    for noted in (first, second):
        noted.sent("t", "tea")
    second.acknowledged("t", 0, "tea", offset=5)

    outcomes = outcomes_of(history)

    assert [each.name for each in outcomes.candidates(T0, 5, "tea")] == ["q#1"]
    assert [each.name for each in outcomes.candidates(T0, 6, "tea")] == ["p#1", "q#1"]
    assert outcomes.candidates(T0, 6, "milk") == []
