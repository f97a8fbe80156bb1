"""Listeners and their security together, held to Kafka's verdicts."""

import pytest

from tests.config.random_listeners import random_row
from tests.config.verdict_table import PROTOCOL, ROWS, TO_CONTROLLER, Row
from tests.config.verdicts import recorded_verdicts, verdicts_of_kafka
from tests.installed import skipped_if_missing
from tests.lanes import together
from trio_kafka.config.load import broker_config
from trio_kafka.config.setting import ConfigError

BY_NAME = {row.name: row for row in ROWS}
RECORDED = recorded_verdicts()


def test_the_recording_has_a_verdict_about_each_row() -> None:
    assert list(RECORDED) == list(BY_NAME)
    assert len(ROWS) > 100
    accepted = [verdict for verdict in RECORDED.values() if verdict.accepts]
    assert 40 < len(accepted) < 70


@together(BY_NAME)
def test_listeners_are_accepted_or_refused_as_by_kafka_or_the_row_says_why(name: str) -> None:
    row = BY_NAME[name]

    refusal = refusal_of(row)

    assert row.culprit == (refusal and refusal.name)
    assert "p4ss" not in str(refusal)
    assert (RECORDED[name].accepts == (row.culprit is None)) is (row.differs == "")


def refusal_of(row: Row) -> ConfigError | None:
    try:
        broker_config(row.settings)
    except ConfigError as error:
        return error
    return None


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_apache_kafka_gives_the_recorded_verdicts() -> None:
    with skipped_if_missing():
        verdicts = verdicts_of_kafka(ROWS)

    accepted = {name: verdict.accepts for name, verdict in verdicts.items()}
    assert accepted == {name: verdict.accepts for name, verdict in RECORDED.items()}


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_apache_kafka_agrees_about_random_listeners_but_for_two_differences() -> None:
    rows = [random_row(seed) for seed in range(5000)]
    with skipped_if_missing():
        verdicts = verdicts_of_kafka(rows)

    for row in rows:
        refusal = refusal_of(row)
        if refusal is not None and is_listed(refusal):
            continue
        assert verdicts[row.name].accepts == (refusal is None), (row, refusal)
    assert sum(verdict.accepts for verdict in verdicts.values()) > 900


def is_listed(refusal: ConfigError) -> bool:
    """Return whether Kafka may accept what is refused so: docs/reference/differences.md."""
    return refusal.name == TO_CONTROLLER or (
        refusal.name == PROTOCOL and "has the protocol" in refusal.reason
    )
