"""Brokers of pytest's fixtures: one test or several use each; what failed tests report of them.

`BrokersOfTests` is a pytest plugin of its own, registered by the first fixture that is used: its
hooks cost nothing in runs without a broker.

A broker that several tests share is cleaned after each test: topics and groups are deleted, a
stopped or paused broker goes on. Names stay what the program under test uses; unique names would
have to reach it. Topics that a fixture of a wider scope made are kept.
"""

from collections.abc import (
    AsyncIterator,
    Callable,
    Generator,
    Iterator,
    Mapping,
)
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import Any, Final
from zlib import crc32

import pytest
import sniffio

from trio_kafka.controls.clients import Client
from trio_kafka.testing.kafka.access import Access
from trio_kafka.testing.kafka.in_loop import KafkaInLoop, kafka_in_loop
from trio_kafka.testing.kafka.life import LifeSettings
from trio_kafka.testing.kafka.machines import SimulatedMachine
from trio_kafka.testing.kafka.threaded import Kafka, running_broker
from trio_kafka.testing.loop_thread import LoopEndedError
from trio_kafka.testing.pytest_cleaning import (
    BrokerInUse,
    clean,
    clients_left,
    complaints,
    topics_of,
)
from trio_kafka.testing.pytest_marks import ACCESS, SHARED, SIMULATED, marked
from trio_kafka.world.simulated import Universe

KafkaFactory = Callable[..., Kafka]
_NAME: Final = "trio-kafka-brokers"
_FAILED: Final = pytest.StashKey[bool]()
_SECTIONS: Final = pytest.StashKey[list[tuple[str, str]]]()  # titles and texts


class BrokerFailedError(RuntimeError):
    """The broker of a test failed; the failure is the cause."""


class BrokersOfTests:
    """Brokers of one pytest run, and its hooks about them."""

    def __init__(self, config: pytest.Config, test: pytest.Item) -> None:
        self._config = config
        self._test = test
        self._used: list[BrokerInUse] = []
        self._begun: pytest.Item | None = None
        self._tree: bool = config.getoption("--kafka-tree")

    # --- fixtures

    @contextmanager
    def kafka(self, request: pytest.FixtureRequest) -> Iterator[Kafka]:
        """Run the broker of the fixture `kafka`, for a test or for all tests of a scope."""
        test = self._test
        is_shared = request.scope != "function"
        user = f"the {request.scope} {request.node.nodeid}".strip() if is_shared else test.nodeid
        arguments = {} if is_shared else marked(test)
        with self._running(user, self._seed(user), arguments, is_shared=is_shared) as used:
            if is_shared:
                self._begin(test)
            yield used.kafka
            # Here the fixtures of the test that use the broker have ended.
            self._end(used, self._test)

    @contextmanager
    def factory(self) -> Iterator[KafkaFactory]:
        """Yield a function that starts brokers for one test."""
        test = self._test
        with ExitStack() as stack:
            started: list[BrokerInUse] = []

            def make(settings: Mapping[str, str] | None = None, **arguments: object) -> Kafka:
                number = len(started) + 1
                user = f"{test.nodeid} (broker {number})"
                running = self._running(user, self._seed(user), {"settings": settings, **arguments})
                started.append(stack.enter_context(running))
                return started[-1].kafka

            yield make
            for used in started:
                self._end(used, test)

    @asynccontextmanager
    async def in_loop(self) -> AsyncIterator[KafkaInLoop]:
        """Run a broker on a simulated machine in the loop of a test."""
        test = self._test
        library = sniffio.current_async_library()
        if library != "trio":
            pytest.fail(
                f"kafka_in_loop lives in a Trio loop, and this test runs in {library}: use the"
                " fixture kafka, and await the methods of kafka.aio",
                pytrace=False,
            )
        arguments = marked(test)
        if unfit := arguments.keys() - SIMULATED:
            pytest.fail(
                f"@pytest.mark.kafka({', '.join(sorted(unfit))}=...): kafka_in_loop has a simulated"
                " disk and network; use the fixture kafka",
                pytrace=False,
            )
        seed = self._seed(test.nodeid)
        settings = self._settings(arguments.get("settings"))
        how = LifeSettings(
            settings=settings,
            plugins=arguments.get("plugins", ()),
            access=Access(**{name: arguments[name] for name in arguments if name in ACCESS}),
            seed=seed,
        )
        machine = SimulatedMachine(universe=Universe(seed))
        async with kafka_in_loop(machine, how, arguments.get("topics", ())) as kafka:
            try:
                yield kafka
                if wrong := complaints(kafka.controls, []):
                    pytest.fail("\n".join(wrong), pytrace=False)
            finally:
                # pytest learns of a failure when the loop has ended.
                if kafka.is_running:
                    from trio_kafka.testing.kafka.report import describe  # noqa: PLC0415 - as below

                    sections = [_seed_section(seed), *await describe(kafka, tree=self._tree)]
                    test.stash[_SECTIONS] = sections

    # --- hooks

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self._test = item

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest
    ) -> Generator[None, object, object]:
        """Keep topics that fixtures of a wider scope make; before others, begin the test."""
        shared = [used for used in self._used if used.is_shared]
        if fixturedef.scope == "function":
            if shared and isinstance(request.node, pytest.Item):
                self._begin(request.node)
            return (yield)
        before = {used.user: topics_of(used.kafka) for used in shared}
        result = yield
        for used in shared:
            used.kept |= topics_of(used.kafka) - before[used.user]
        return result

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> None:
        self._begin(item)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, None, None]:
        """Clean shared brokers after a test: here its own fixtures have ended."""
        del nextitem
        try:
            yield
        finally:
            self._begun = None
            for used in list(self._used):
                if used.is_shared:
                    self._end(used, item)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add the state of the test's brokers to the report of a failure."""
        report = yield
        if report.failed and report.when != "teardown":
            item.stash[_FAILED] = True
            # Imported on first use: most tests pass.
            from trio_kafka.testing.kafka.report import describe_threaded  # noqa: PLC0415

            names = getattr(item, "fixturenames", ())
            for title, text in item.stash.get(_SECTIONS, []):
                report.sections.append((f"kafka_in_loop: {title}", text))
            for used in self._used:
                if not used.is_shared or "kafka" in names:
                    state = [
                        _seed_section(self._seed(used.user)),
                        *describe_threaded(used.kafka, tree=self._tree),
                    ]
                    report.sections.extend(
                        (f"kafka of {used.user}: {title}", t) for title, t in state
                    )
        return report

    # --- a test's begin and end

    @contextmanager
    def _running(
        self, user: str, seed: int, arguments: Mapping[str, Any], *, is_shared: bool = False
    ) -> Iterator[BrokerInUse]:
        """Run a broker; if it failed, raise an error that names its user."""
        settings = self._settings(arguments.get("settings"))
        keywords = {**arguments, "settings": settings, "seed": seed, "name": f"kafka of {user}"}
        used: BrokerInUse | None = None
        try:
            with running_broker(**keywords) as kafka:
                used = BrokerInUse(kafka=kafka, user=user, is_shared=is_shared)
                used.kept.update(kafka.topics())
                self._used.append(used)
                try:
                    yield used
                finally:
                    self._used.remove(used)
        except Exception as error:
            if used is None or used.kafka.thread.failure is not error:
                raise
            raise BrokerFailedError(
                f"the broker of {used.failed_in or user} failed during the test: {error!r}"
            ) from error

    def _begin(self, test: pytest.Item) -> None:
        """Prepare the shared broker for a test, once. Fails the test if that is not possible."""
        if self._begun is test:
            return
        self._begun = test
        shared = [used for used in self._used if used.is_shared]
        if not shared or "kafka" not in getattr(test, "fixturenames", ()):
            return
        (used,) = shared[-1:]
        if used.failed_in:
            pytest.fail(f"the shared broker failed in {used.failed_in}", pytrace=False)
        arguments = marked(test)
        if unfit := arguments.keys() - SHARED:
            pytest.fail(
                f"@pytest.mark.kafka({', '.join(sorted(unfit))}=...): this test shares its broker"
                f" (scope {used.user.split()[1]}); use kafka_factory, or the scope function",
                pytrace=False,
            )
        used.kafka.reset_clock()  # a fixture of a wider scope may have moved it
        topics = arguments.get("topics", ())
        counts = topics if isinstance(topics, Mapping) else dict.fromkeys(topics, 1)
        for name, partitions in counts.items():
            used.kafka.create_topic(name, partitions, exist_ok=True)

    def _end(self, used: BrokerInUse, test: pytest.Item) -> None:
        """Check what a test left, and clean a shared broker.

        Fails the test if clients are left, or fault rules matched nothing or raised.
        Raises BrokerFailedError.
        """
        kafka = used.kafka
        try:
            kafka.resume()
            wrong = complaints(kafka.controls, used.reported)
            kafka.controls.clear()
            if used.is_shared and not kafka.is_running:
                kafka.start()
            clients = self._clients_left(used, test)
            if used.is_shared:
                clean(used)
        except LoopEndedError as error:
            if used.failed_in or not used.is_shared:  # raised at the end of the broker
                return
            used.failed_in = test.nodeid
            raise BrokerFailedError(
                f"the shared broker failed during {test.nodeid}: {kafka.thread.failure!r}"
            ) from error
        if clients:
            used.leftover.update(clients)
            text = "\n".join(f"- {client}" for client in sorted(clients))
            wrong.append(
                f"{test.nodeid} left clients connected to the broker; close them, or set"
                f" kafka_clients_left = ignore:\n{text}"
            )
        if wrong and not test.stash.get(_FAILED, False):
            pytest.fail("\n".join(wrong), pytrace=False)

    def _clients_left(self, used: BrokerInUse, test: pytest.Item) -> set[Client]:
        is_ignored = self._config.getini("kafka_clients_left") == "ignore"
        if is_ignored or not used.kafka.is_running:
            return set()
        return clients_left(used, test, has_failed=test.stash.get(_FAILED, False))

    # --- settings

    def _settings(self, settings: Mapping[str, str] | None) -> dict[str, str]:
        """Return the settings of the ini file, and above them those of a test."""
        ini_settings: dict[str, str] = {}
        for line in self._config.getini("kafka_settings"):
            name, equals, value = line.partition("=")
            if not equals:
                raise pytest.UsageError(f"kafka_settings: {line!r}: expected name=value")
            ini_settings[name.strip()] = value.strip()
        return {**ini_settings, **(settings or {})}

    def _seed(self, user: str) -> int:
        seed: int | None = self._config.getoption("--kafka-seed")
        return crc32(user.encode()) if seed is None else seed


def brokers_of(config: pytest.Config, test: pytest.Item) -> BrokersOfTests:
    """Return the brokers of a pytest run; the first test that uses one is given."""
    brokers: BrokersOfTests | None = config.pluginmanager.get_plugin(_NAME)
    if brokers is None:
        brokers = BrokersOfTests(config, test)
        config.pluginmanager.register(brokers, _NAME)
    return brokers


def _seed_section(seed: int) -> tuple[str, str]:
    return "seed", f"{seed}; --kafka-seed={seed} gives it to every broker"
