"""The example of an API of one's own: installed, served, asked, and told of in the docs."""

import importlib.util
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from trio.testing import MockClock

from tests.examples.packages import BLOCK, Example, serving
from tests.project.tree import ROOT
from trio_kafka.requests.registry import installed_apis
from trio_kafka.testing.planes import running_plane
from trio_kafka.testing.processes import BrokerProcess, ask_api_versions, broker_process
from trio_kafka.testing.scripted_client import connected
from trio_kafka.testing.simulation import simulated_world

HELLO = Example("hello_api")
EXAMPLE = HELLO.path
GUIDE = ROOT / "docs" / "how-to" / "write-an-api.md"
KEY = 10100


@pytest.fixture(scope="module")
def module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("hello_api", EXAMPLE / "hello_api.py")
    assert spec is not None
    assert spec.loader is not None
    loaded_module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded_module)
    return loaded_module


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker process in whose path the plugin is installed."""
    with serving(HELLO, tmp_path_factory.mktemp("broker")) as started:
        yield started


def run_client(broker: BrokerProcess, *words: str) -> subprocess.CompletedProcess[str]:
    host, port = broker.address
    return subprocess.run(
        [sys.executable, str(EXAMPLE / "client.py"), host, str(port), *words],
        cwd=broker.data,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


@pytest.mark.slow
def test_a_broker_with_the_plugin_greets_the_client(broker: BrokerProcess) -> None:
    done = run_client(broker, "Ada")

    assert (done.returncode, done.stdout) == (0, "node 1 says: Hello, Ada!\n"), done.stderr
    assert run_client(broker, "Ada", "Good day").stdout == "node 1 says: Good day, Ada!\n"


@pytest.mark.slow
def test_the_api_key_of_the_plugin_is_listed_beside_those_of_kafka(broker: BrokerProcess) -> None:
    served = ask_api_versions(broker.address)

    assert served[KEY] == (0, 1)
    assert {0, 1, 3, 18} <= set(served)


@pytest.mark.slow
def test_an_error_of_the_handler_is_reported_by_the_client(broker: BrokerProcess) -> None:
    done = run_client(broker, "")

    assert (done.returncode, done.stderr) == (1, "error 42: want a name\n")


@pytest.mark.slow
def test_the_client_reports_a_broker_without_the_plugin(tmp_path: Path) -> None:
    with broker_process(tmp_path) as plain:
        done = run_client(plain, "Ada")

    assert (done.returncode, done.stdout) == (1, "")
    assert "the broker does not serve Hello" in done.stderr


@pytest.mark.slow
def test_the_wheel_contains_only_the_module_and_its_entry_point(tmp_path: Path) -> None:
    with zipfile.ZipFile(HELLO.build_wheel(tmp_path)) as wheel:
        modules = [name for name in wheel.namelist() if ".dist-info/" not in name]
        points = wheel.read("hello_api-1.0.dist-info/entry_points.txt").decode()

    assert modules == ["hello_api.py"]
    assert points.strip() == HELLO.entry_points.strip()


def test_the_registry_finds_the_installed_plugin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    HELLO.install(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        result = installed_apis().get(KEY)
    finally:
        sys.modules.pop("hello_api", None)

    assert result is not None
    assert (result.name, result.first, result.last, result.source) == ("Hello", 0, 1, "hello_api")


@pytest.mark.parametrize("version", [0, 1])
async def test_the_handler_answers_in_each_version(
    autojump_clock: MockClock, module: ModuleType, version: int
) -> None:
    world = simulated_world()
    async with (
        running_plane(world, [module.hello]) as plane,
        connected(world, plane.endpoint) as client,
    ):
        answer = await client.ask(module.HelloRequest("Ada"), version)
        refused = await client.ask(module.HelloRequest(""), version)

    assert (answer.error_code, answer.text, answer.node_id) == (0, "Hello, Ada!", 1)
    assert (refused.error_code, refused.error_message, refused.text) == (42, "want a name", "")


def test_every_code_block_of_the_guide_is_taken_from_the_example() -> None:
    files = [(EXAMPLE / name).read_text() for name in ("hello_api.py", "client.py")]
    files.append((EXAMPLE / "pyproject.toml").read_text())
    blocks = [text for _, text in BLOCK.findall(GUIDE.read_text())]

    assert len(blocks) >= 4
    assert [text for text in blocks if not any(text in whole for whole in files)] == []


def test_the_guide_shows_every_line_of_the_handler() -> None:
    shown = "".join(text for _, text in BLOCK.findall(GUIDE.read_text())).splitlines()
    source = (EXAMPLE / "hello_api.py").read_text().splitlines()

    assert [line for line in source if line not in shown] == []
