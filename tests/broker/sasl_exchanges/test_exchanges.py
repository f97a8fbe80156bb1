"""Raw SASL bytes: this broker answers as Apache Kafka 4.4 does, nearly."""

from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from tests.broker.sasl_exchanges.brokers import LISTENERS, create_users, settings
from tests.broker.sasl_exchanges.differences import DIFFERENCES
from tests.broker.sasl_exchanges.recording import (
    cases,
    lines_of_apache_kafka,
    play_all,
    recorded,
)
from tests.installed import APACHE_KAFKA, need_or_skip
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.clock import EPOCH

pytestmark = pytest.mark.slow


async def test_raw_sasl_bytes_are_answered_as_recorded_from_apache_kafka(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    texts = settings(tmp_path, dict.fromkeys(("PLAINTEXT", *LISTENERS), 0))
    async with served_broker(simulated_world(), texts) as served:
        await create_users(served)
        began = trio.current_time()
        ours = await play_all(
            cases(),
            served.connect,
            lambda: int(EPOCH + trio.current_time() - began),
            at_once=64,
        )

    theirs = recorded()
    assert list(ours) == list(theirs)
    differ = {name: lines for name, lines in ours.items() if lines != theirs[name]}
    assert {name: lines[-len(DIFFERENCES.get(name, ())) :] for name, lines in differ.items()} == {}
