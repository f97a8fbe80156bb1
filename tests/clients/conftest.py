"""Fixtures of the client matrix: programs that are started when they are first asked."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.clients.catalogue import CLIENTS, REFERENCE, Client
from tests.clients.cluster import Cluster
from tests.clients.driver import Driver, running
from tests.clients.members import SESSION_MS
from tests.conftest import QUICK_GROUPS
from tests.installed import skipped_if_missing
from trio_kafka.testing.processes import BrokerProcess, broker_process

QUICK_MEMBERS = (
    *QUICK_GROUPS,
    "group.consumer.min.session.timeout.ms=1000",
    f"group.consumer.session.timeout.ms={SESSION_MS}",
)


@pytest.fixture(scope="session")
def drivers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Client], Driver]]:
    """The program of a client: one for the session, and a new one where it has ended."""
    logs = tmp_path_factory.mktemp("clients")
    started: dict[str, Driver] = {}
    with ExitStack() as stack:

        def driver(client: Client) -> Driver:
            running_driver = started.get(client.name)
            if running_driver is None or running_driver.process.poll() is not None:
                with skipped_if_missing():
                    command = client.command()
                log = logs / f"{client.name}.log"
                running_driver = stack.enter_context(running(client.name, command, log))
                started[client.name] = running_driver
            return running_driver

        yield driver


@pytest.fixture
def clusters(
    shared_broker: BrokerProcess, drivers: Callable[[Client], Driver], tmp_path: Path
) -> Callable[[str], Cluster]:
    """The broker through the eyes of a client, by name."""

    def cluster(name: str) -> Cluster:
        client = CLIENTS[name]
        return Cluster(
            bootstrap=shared_broker.bootstrap,
            client=client,
            driver=lambda step: drivers(client if client.can(step) else REFERENCE),
            reference=lambda: drivers(REFERENCE),
            directory=tmp_path,
        )

    return cluster


@pytest.fixture(scope="session")
def quick_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """One broker for all tests whose groups of KIP-848 are to miss a member soon."""
    with broker_process(tmp_path_factory.mktemp("quick"), *QUICK_MEMBERS) as broker:
        yield broker


@pytest.fixture
def quick_cluster(
    quick_broker: BrokerProcess, drivers: Callable[[Client], Driver], tmp_path: Path
) -> Cluster:
    """That broker through the eyes of the reference client."""
    return Cluster(
        bootstrap=quick_broker.bootstrap,
        client=REFERENCE,
        driver=lambda _step: drivers(REFERENCE),
        reference=lambda: drivers(REFERENCE),
        directory=tmp_path,
    )
