"""The wheel as published, installed where the checkout cannot be seen."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.project.tree import ROOT, modules
from trio_kafka.testing.processes import ask_api_versions, broker_process, trio_kafka_command

# Installs from the index, if the packages are not in uv's cache.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin directory of an environment with the wheel and what it depends on."""
    pytest.importorskip("uv", reason="uv is not installed")
    home = tmp_path_factory.mktemp("installed")
    uv = (sys.executable, "-m", "uv")
    run(*uv, "venv", "--python", sys.executable, home / "venv", cwd=home)
    locked = ("--constraints", ROOT / "requirements" / "run.txt")
    run(*uv, "pip", "install", "--python", home / "venv", *locked, wheel, cwd=home)
    return home / "venv" / "bin"


def test_wheel_contains_every_module_the_type_marker_and_the_licence(wheel: Path) -> None:
    packaged = set(zipfile.ZipFile(wheel).namelist())
    expected = {str(module).removeprefix("plugins/") for module in modules()}

    assert {name for name in expected if not name.startswith("admin_ui/")} <= packaged
    assert "trio_kafka/py.typed" in packaged
    assert any(name.endswith("licenses/LICENSE") for name in packaged)
    assert [name for name in packaged if name.startswith(("tests/", "docs/", ".ci/"))] == []


def test_installed_command_runs_outside_the_checkout(installed: Path, tmp_path: Path) -> None:
    assert "0.1.0" in run(installed / "trio-kafka", "version", cwd=tmp_path)


def test_broker_installed_from_the_wheel_serves_requests(installed: Path, tmp_path: Path) -> None:
    def command(port: int, data: Path, settings: list[str]) -> list[str]:
        return [str(installed / "python"), *trio_kafka_command(port, data, settings)[1:]]

    with broker_process(tmp_path, command=command) as broker:
        assert {0, 1, 3, 18} <= set(ask_api_versions(broker.address))
    assert broker.process.returncode == 0
