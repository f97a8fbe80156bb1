"""Stores of TLS at the start of a broker, held to the verdicts of Apache Kafka."""

from pathlib import Path

import pytest
from trio.testing import MockClock

from tests.broker.tls_verdicts import (
    ROWS,
    recorded_tls_verdicts,
    settings_of,
    stores_in,
    tls_verdicts_of_kafka,
)
from tests.installed import skipped_if_missing
from trio_kafka.broker.tls_listeners import TlsListeners
from trio_kafka.config.load import broker_config
from trio_kafka.config.setting import ConfigError
from trio_kafka.introspect.tree import Node
from trio_kafka.testing.simulation import simulated_world


async def refusal_of(settings: dict[str, str]) -> ConfigError | None:
    config = broker_config(settings)
    try:
        await TlsListeners(simulated_world(), config, Node("tls", "part")).load(config)
    except ConfigError as error:
        return error
    return None


@pytest.mark.parametrize("of_controller", [False, True])
async def test_stores_are_accepted_or_refused_as_by_kafka_or_the_row_says_why(
    autojump_clock: MockClock, tmp_path: Path, of_controller: bool
) -> None:
    stores, recorded = stores_in(tmp_path), recorded_tls_verdicts()
    assert list(recorded) == [row.name for row in ROWS]

    for row in ROWS:
        refusal = await refusal_of(settings_of(row, stores, of_controller=of_controller))
        assert row.culprit == (refusal and refusal.name), row
        agrees = recorded[row.name].accepts == (row.culprit is None)
        assert agrees is (row.differs == ""), row
        for secret in ("k3y", "p4ss", "PRIVATE"):
            assert secret not in str(refusal), row


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_apache_kafka_gives_the_recorded_verdicts_about_stores(tmp_path: Path) -> None:
    with skipped_if_missing():
        verdicts = tls_verdicts_of_kafka(stores_in(tmp_path))

    accepted = {name: verdict.accepts for name, verdict in verdicts.items()}
    recorded = recorded_tls_verdicts()
    assert accepted == {name: verdict.accepts for name, verdict in recorded.items()}
