"""Fixtures for pytest: `kafka`, `kafka_factory`, `kafka_in_loop`, and the mark `kafka`.

Every pytest run of an environment loads this module. It imports pytest only, and its hooks do
nothing for tests without these fixtures; the kit is imported by the first fixture that is used.
"""

from collections.abc import AsyncIterator, Iterator
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import pytest

if TYPE_CHECKING:
    from trio_kafka.testing.kafka.in_loop import KafkaInLoop
    from trio_kafka.testing.kafka.threaded import Kafka
    from trio_kafka.testing.pytest_brokers import BrokersOfTests, KafkaFactory

Scope: TypeAlias = Literal["function", "class", "module", "package", "session"]
SCOPES: Final[tuple[Scope, ...]] = ("function", "class", "module", "package", "session")
_IN_THREAD: Final = frozenset({"kafka", "kafka_factory"})
_CLIENTS_LEFT: Final = ("error", "ignore")
_TEST: Final = pytest.StashKey[pytest.Item]()
_MARK: Final = (
    "kafka(settings, topics, directory, plugins, port, tls, users, mechanism, acls): what the"
    " fixture kafka or kafka_in_loop starts with: settings by Kafka's names, topics as names or"
    " {name: partitions}, tls=True, users={name: password} for clients with kafka.client_config(),"
    " acls=['allow ann to READ topic orders*']"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("trio-kafka")
    group.addoption(
        "--kafka-scope",
        choices=SCOPES,
        help="how long the broker of the fixture kafka lives (default: kafka_scope, or function)",
    )
    group.addoption(
        "--kafka-seed",
        type=int,
        metavar="NUMBER",
        help="seed of brokers and simulated machines (default: one for each test, by its name)",
    )
    group.addoption(
        "--kafka-tree",
        action="store_true",
        help="add the queues and tasks of brokers to the report of a failed test",
    )
    parser.addini("kafka_scope", f"scope of the fixture kafka: {', '.join(SCOPES)}")
    parser.addini("kafka_settings", "settings of all brokers, as name=value", type="linelist")
    parser.addini("kafka_clients_left", "clients still connected after a test: error or ignore")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARK)
    for name, values in (("kafka_scope", SCOPES), ("kafka_clients_left", _CLIENTS_LEFT)):
        value = config.getini(name)
        if value and value not in values:
            raise pytest.UsageError(f"{name} = {value}: expected one of {', '.join(values)}")


def scope_of(config: pytest.Config) -> Scope:
    """Return the scope of the fixture `kafka`."""
    scope: Scope | None = config.getoption("--kafka-scope") or config.getini("kafka_scope")
    return scope or "function"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Keep the test for fixtures of a wider scope; refuse what cannot work."""
    item.config.stash[_TEST] = item
    names = getattr(item, "fixturenames", ())
    if "autojump_clock" in names and not _IN_THREAD.isdisjoint(names):
        pytest.fail(
            "autojump_clock skips waits as soon as this test's loop is idle, but the broker of"
            " kafka and kafka_factory works in another thread in real time: each wait for it would"
            " time out. Use kafka_in_loop, or leave autojump_clock out and call kafka.advance()",
            pytrace=False,
        )
    if "kafka_in_loop" in names and (
        item.get_closest_marker("asyncio") or not iscoroutinefunction(getattr(item, "obj", None))
    ):
        pytest.fail(
            "kafka_in_loop lives in the loop of a Trio test, and this is none: make it an async"
            " test for pytest-trio or anyio, or use the fixture kafka",
            pytrace=False,
        )


@pytest.fixture(scope=lambda fixture_name, config: scope_of(config))  # noqa: ARG005 - as pytest calls it
def kafka(request: pytest.FixtureRequest) -> "Iterator[Kafka]":
    """A broker in a thread of its own, for clients of any kind; `kafka.bootstrap` is its address.

    Its methods block; `kafka.aio` has the same ones to await. A broker that several tests share
    (`--kafka-scope`) loses topics and groups after each test, but for those that fixtures of a
    wider scope made.
    """
    with _brokers(request).kafka(request) as running:
        yield running


@pytest.fixture
def kafka_factory(request: pytest.FixtureRequest) -> "Iterator[KafkaFactory]":
    """Starts a broker at each call, with the arguments of `running_broker`, until the test ends."""
    with _brokers(request).factory() as make:
        yield make


@pytest.fixture
async def kafka_in_loop(request: pytest.FixtureRequest) -> "AsyncIterator[KafkaInLoop]":
    """A broker on a simulated machine in the loop of a Trio test, on that test's clock.

    Clients of the operating system cannot reach it: `kafka_in_loop.broker.world` has its network.
    """
    async with _brokers(request).in_loop() as running:
        yield running


def _brokers(request: pytest.FixtureRequest) -> "BrokersOfTests":
    from trio_kafka.rare_collections import rare_collections  # noqa: PLC0415 - on first use

    with rare_collections():
        from trio_kafka.testing.pytest_brokers import brokers_of  # noqa: PLC0415 - on first use

    return brokers_of(request.config, request.config.stash[_TEST])
