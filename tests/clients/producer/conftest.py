"""Broker processes: one with the older protocol of transactions, and one to be killed."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import trio
from attrs import define

from tests.clients.producer.relay import Relay
from trio_kafka.clients import open_producer
from trio_kafka.protocol.messages.k57_update_features import FeatureUpdateKey, UpdateFeaturesRequest
from trio_kafka.testing.ports import LOOPBACK, unused_port
from trio_kafka.testing.processes import BrokerProcess, Command, broker_process

TIMEOUT_S = 30.0
UNSAFE_DOWNGRADE = 3
OLDER = 1  # level of transaction.version


@pytest.fixture(scope="session")
def old_broker(
    broker_command: Command, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BrokerProcess]:
    """A broker as Kafka 3.9 has it: `transaction.version` 1; it creates no topics by itself."""
    home = tmp_path_factory.mktemp("old")
    no_topics = "auto.create.topics.enable=false"
    with broker_process(home, no_topics, command=broker_command) as broker:
        trio.run(downgrade, broker.bootstrap)
        yield broker


async def downgrade(bootstrap: str) -> None:
    request = UpdateFeaturesRequest(
        feature_updates=[
            FeatureUpdateKey("transaction.version", OLDER, upgrade_type=UNSAFE_DOWNGRADE)
        ]
    )
    async with open_producer({"bootstrap.servers": bootstrap}) as producer:
        node = await producer.client.metadata.wait_broker()
        response = await producer.client.links[node].ask(request, timeout_s=TIMEOUT_S)
    assert (response.error_code, response.error_message) == (0, None)


@define
class Lives:
    """A broker behind a relay, which is killed and started again on its address and data.

    Clients reach it through the loop of the test: blocking ones need a thread.
    """

    broker: BrokerProcess
    relay: Relay
    start: Callable[[], BrokerProcess]

    async def next(self) -> None:
        """End the broker by SIGKILL, and wait until the next one serves."""
        self.broker.process.kill()
        self.broker.process.wait()
        self.relay.cut()
        self.broker = await trio.to_thread.run_sync(self.start)


@pytest.fixture
async def lives(
    broker_command: Command, tmp_path: Path, nursery: trio.Nursery
) -> AsyncIterator[Lives]:
    port, relay_port = unused_port(), unused_port()
    address = f"advertised.listeners=PLAINTEXT://{LOOPBACK}:{relay_port}"
    with ExitStack() as stack:

        def start() -> BrokerProcess:
            process = broker_process(tmp_path, address, command=broker_command, port=port)
            return stack.enter_context(process)

        relay = Relay(relay_port, (LOOPBACK, port))
        await nursery.start(relay.run)
        yield Lives(await trio.to_thread.run_sync(start), relay, start)
