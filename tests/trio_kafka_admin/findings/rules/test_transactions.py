"""Transactions that hold back readers."""

from typing import Any

import pytest

from tests.trio_kafka_admin.findings.kit import (
    apply,
    moment,
    open_transaction,
    transaction,
    words_of,
)
from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.rules.transactions import (
    hanging_transaction,
    long_transaction,
    unmarked_transaction,
)


def test_hanging_transaction_is_a_finding_with_the_command_that_ends_it() -> None:
    hanging = open_transaction(transactional_id=None, verdict="hanging")
    others = (open_transaction(1), open_transaction(2, transactional_id=None, verdict="unclear"))

    [finding] = apply(hanging_transaction, moment(open_transactions=[hanging, *others]))

    assert finding.words == (
        "a transaction of producer 5 hangs in t-0: no coordinator knows it, and its producer has"
        " written nothing for 2 minutes; read_committed readers do not get 3 offsets from 7; end"
        " it with trio-kafka txn abort --topic t --partition 0 --start-offset 7"
    )
    assert (finding.subject, finding.severity) == (Subject("partition", "t-0"), "wrong")
    assert finding.explains == (Subject("partition", "t-0"),)


def test_transaction_whose_markers_are_not_written_for_long_is_a_finding() -> None:
    stuck = transaction(
        state="PrepareCommit",
        state_s=12.0,
        left_s=None,
        waits_for="markers in 1 partition, refused last with NOT_LEADER_OR_FOLLOWER",
        parked=2,
    )
    young = transaction("young", state="PrepareAbort", state_s=4.9)

    [finding] = apply(unmarked_transaction, moment(transactions=[stuck, young, transaction()]))

    assert finding.words == (
        "transaction payments cannot be completed: PrepareCommit for 12 s, it waits for markers in"
        " 1 partition, refused last with NOT_LEADER_OR_FOLLOWER"
    )
    assert (finding.subject, finding.hurt) == (Subject("transaction", "payments"), 2)
    assert finding.explains == (Subject("partition", "t-0"),)


def test_transaction_that_is_open_for_long_names_what_it_holds_back_and_its_end() -> None:
    old = transaction(age_s=720.0, left_s=180.0)
    entries = [open_transaction(), open_transaction(1, held=9, start=1)]

    [finding] = apply(long_transaction, moment(transactions=[old], open_transactions=entries))

    assert finding.words == (
        "transaction payments is open for 12 minutes and holds back t-1 and 1 partition more:"
        " read_committed readers do not get 9 offsets from 1; it is aborted in 3 minutes if its"
        " producer does not end it"
    )
    assert finding.severity == "watch"
    assert set(finding.explains) == {Subject("partition", "t-0"), Subject("partition", "t-1")}


def test_transaction_above_its_timeout_says_so() -> None:
    old = transaction(age_s=1000.0, left_s=0.0)

    [words] = words_of(
        apply(long_transaction, moment(transactions=[old], open_transactions=[open_transaction()]))
    )

    assert words.endswith("; it is above its timeout of 15 minutes")


@pytest.mark.parametrize(
    ("row", "entry"),
    [
        ({"age_s": 59.0}, {}),
        ({"age_s": 720.0}, {"held": 0}),
        ({"age_s": 720.0}, {"is_oldest": False}),
        ({"age_s": 720.0}, {"transactional_id": "other"}),
        ({"age_s": 720.0, "state": "PrepareCommit"}, {}),
    ],
)
def test_transaction_that_holds_nothing_back_or_is_young_is_no_finding(
    row: dict[str, Any], entry: dict[str, Any]
) -> None:
    now = moment(transactions=[transaction(**row)], open_transactions=[open_transaction(**entry)])

    assert apply(long_transaction, now) == []
