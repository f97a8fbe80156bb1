"""Options and fixtures of the whole suite: lanes and sizes, skips, brokers for client tests.

With CI=true (or TRIO_KAFKA_NO_SKIP) a skipped test has failed: there, what a test needs is
installed, and one that finds it missing has shown nothing.
"""

import gc
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path

import hypothesis
import pytest

from tests.clients.kafka_tools.jvm import AskTool, ask_tool
from tests.lanes import Seeds
from tests.order import spread
from trio_kafka.rare_collections import rare_collections
from trio_kafka.testing.processes import BrokerProcess, Command, broker_process, trio_kafka_command

pytest_plugins = ["tests.census"]

NO_SKIP = os.environ.get("CI") == "true" or bool(os.environ.get("TRIO_KAFKA_NO_SKIP"))
LONG_TIMEOUT_S = 900.0  # of a test that has no limit of its own
NEXT_LOOK = pytest.StashKey[float]()
BETWEEN_LOOKS_S = 5.0
# Apache Kafka serves a test for seconds: to compile for more takes most of its CPU time.
BRIEF_JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Djava.awt.headless=true"
TESTS = Path(__file__).parent
BENCHMARKS = TESTS / "benchmarks"
# Folders whose tests wait for processes. Those of one line share brokers, JVMs and browsers.
WAITING = (
    [TESTS / "e2e"],
    [TESTS / name for name in ("clients", "attacks", "examples", "project")],
)
# The first members of a group wait so long for others: 3 s by default.
BRIEF_REBALANCE = "group.initial.rebalance.delay.ms=100"
# A member's death, join and new assignment show within a second: with the defaults each takes three
# to six, in which a test only waits.
QUICK_GROUPS = (
    BRIEF_REBALANCE,
    "group.min.session.timeout.ms=1000",
    "group.consumer.min.heartbeat.interval.ms=100",
    "group.consumer.heartbeat.interval.ms=500",
)

hypothesis.settings.register_profile("short", deadline=None, max_examples=50)
hypothesis.settings.register_profile("long", deadline=None, max_examples=2000)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("trio-kafka")
    group.addoption(
        "--sizes",
        choices=("short", "long"),
        default="short",
        help="how much data and how many examples each test takes (default: short)",
    )
    group.addoption(
        "--against",
        choices=("trio-kafka", "apache-kafka"),
        default="trio-kafka",
        help="the broker of the client tests: Apache Kafka is what holds the tests themselves",
    )


@pytest.hookimpl(tryfirst=True)  # before the plugin that reads the timeout
def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--sizes") == "long" and config.getoption("--timeout", None) is None:
        config.option.timeout = LONG_TIMEOUT_S
    if config.getoption("--hypothesis-profile", None) is None:
        hypothesis.settings.load_profile(config.getoption("--sizes"))
    if config.getoption("--sizes") == "short":
        os.environ.setdefault("APACHE_JVM_OPTS", BRIEF_JVM)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Import and list tests with few collections of garbage: these are a fifth of the time."""
    with rare_collections():
        return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Keep modules and tests out of each scan: with all tests a scan takes 0.6 s.

    A test that thaws them (`gc.unfreeze`) does so for some seconds: the count walks all objects.
    """
    now = time.monotonic()
    if now > item.config.stash.get(NEXT_LOOK, 0.0):
        item.config.stash[NEXT_LOOK] = now + BETWEEN_LOOKS_S
        if gc.get_freeze_count() == 0:
            gc.collect()
            gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect long tests unless --sizes asks for them or the command line names their file.

    Long tests are those with the mark `long`, and all tests of benchmarks. What stays is put in an
    order for the workers: see `spread`.
    """
    if config.getoption("--sizes") != "long":
        named = [Path(argument.partition("::")[0]).resolve() for argument in config.args]
        left_out = {item for item in items if is_long(item) and not is_named(item, named)}
        if left_out:
            items[:] = [item for item in items if item not in left_out]
            config.hook.pytest_deselected(items=list(left_out))
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    items[:] = spread(items, kinds=len(WAITING), kind_of=kind_of, workers=workers)


def kind_of(item: pytest.Item) -> int | None:
    """Return the number of the line of WAITING that has the test's folder."""
    return next((kind for kind, line in enumerate(WAITING) if is_below(line, item)), None)


def is_long(item: pytest.Item) -> bool:
    return bool(item.get_closest_marker("long")) or is_below((BENCHMARKS,), item)


def is_below(folders: Collection[Path], item: pytest.Item) -> bool:
    """Whether a test is in one of the folders. By text: `Path.parents` takes 0.1 ms a test."""
    return str(item.path).startswith(tuple(f"{folder}/" for folder in folders))


def is_named(item: pytest.Item, named: Collection[Path]) -> bool:
    """Whether the command line names a benchmark test's file, or a folder of benchmarks."""
    if item.get_closest_marker("long"):
        return False
    return any(path == BENCHMARKS or BENCHMARKS in path.parents for path in named)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if not hasattr(report, "wasxfail"):
        refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    refuse_skip(report)
    return report


def refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if NO_SKIP and report.skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"a skip is a failure here: {reason}"


@pytest.fixture(scope="session")
def size(pytestconfig: pytest.Config) -> Callable[[int, int], int]:
    """`size(short, long)`: the one that the option --sizes asks for."""
    long_ones = pytestconfig.getoption("--sizes") == "long"
    return lambda short, long: long if long_ones else short


@pytest.fixture
def seeds(size: Callable[[int, int], int]) -> Seeds:
    """`seeds(short, long)`: `long` seeds from 0 on, or `short` of them, others in each run.

    A failed test shows them; `--randomly-seed` repeats a run.
    """

    def choose(short: int, long: int) -> range:
        count = size(short, long)
        first = random.randrange(long - count + 1)
        print(f"seeds {first} to {first + count - 1}")
        return range(first, first + count)

    return choose


@pytest.fixture(scope="session")
def kafka_tool() -> AskTool:
    """Apache Kafka's own tools; their jars come with Maven at the first run."""
    from tests.clients.build import MissingError, class_path

    try:
        class_path("tools")
    except MissingError as missing:
        pytest.skip(str(missing))
    return ask_tool


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Wheel of this checkout."""
    pytest.importorskip("hatchling", reason="hatchling is not installed")
    target = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)]
    done = subprocess.run(command, cwd=TESTS.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    [built] = target.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def broker_command(pytestconfig: pytest.Config) -> Command:
    """Command that starts the broker that --against names."""
    if pytestconfig.getoption("--against") == "trio-kafka":
        return trio_kafka_command
    from tests.benchmarks.brokers import apache_kafka_command

    return apache_kafka_command


@pytest.fixture(scope="session")
def shared_broker(
    broker_command: Command, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BrokerProcess]:
    """One broker for all tests that only add topics of their own."""
    home = tmp_path_factory.mktemp("shared")
    with broker_process(home, *QUICK_GROUPS, command=broker_command) as broker:
        yield broker


@pytest.fixture
def restart(
    broker_command: Command, tmp_path: Path
) -> Iterator[Callable[[BrokerProcess], BrokerProcess]]:
    """Stops the test's own broker and starts another one on its data."""
    with ExitStack() as stack:

        def start_again(broker: BrokerProcess) -> BrokerProcess:
            broker.stop()
            process = broker_process(tmp_path, BRIEF_REBALANCE, command=broker_command)
            return stack.enter_context(process)

        yield start_again


@pytest.fixture
def own_broker(broker_command: Command, tmp_path: Path) -> Iterator[BrokerProcess]:
    """A broker of the test's own, which it may stop."""
    with broker_process(tmp_path, BRIEF_REBALANCE, command=broker_command) as broker:
        yield broker
