"""Raw SASL bytes: this broker answers them as Apache Kafka 4.4 does, but for listed differences."""

from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from tests.broker.sasl_exchanges.brokers import LISTENERS, TLS, create_users, settings
from tests.broker.sasl_exchanges.differences import outdated, unexplained
from tests.broker.sasl_exchanges.recording import (
    cases,
    lines_of_apache_kafka,
    play_all,
    recorded,
)
from tests.broker.sasl_exchanges.tls_clients import shake_hands_in_all_ways
from tests.broker.sasl_exchanges.totals import totals_of
from tests.installed import APACHE_KAFKA, need_or_skip
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.clock import EPOCH

pytestmark = pytest.mark.slow


async def test_raw_sasl_bytes_are_answered_as_apache_kafka_answers_them(
    autojump_clock: MockClock, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("CRITICAL")  # hundreds of failed logins are logged
    texts = settings(tmp_path, dict.fromkeys(("PLAINTEXT", *LISTENERS, TLS), 0))
    async with served_broker(simulated_world(), texts) as served:
        await create_users(served)
        await shake_hands_in_all_ways(served.broker.world, served.broker.endpoints[TLS])
        ours = await play_all(
            cases(), served.connect, lambda: int(EPOCH + trio.current_time()), at_once=64
        )
        ours |= totals_of(served.broker.parts)

    theirs = recorded()
    assert list(ours) == list(theirs)
    assert unexplained(ours, theirs, {case.name: case.listener for case in cases()}) == {}
    assert outdated(ours, theirs) == []


@pytest.mark.long
@pytest.mark.timeout(600)
def test_the_recorded_exchanges_equal_those_of_a_running_apache_kafka(tmp_path: Path) -> None:
    need_or_skip(*APACHE_KAFKA)

    theirs, record = lines_of_apache_kafka(tmp_path), recorded()

    assert list(theirs) == list(record)
    assert {name: rows for name, rows in theirs.items() if rows != record[name]} == {}
