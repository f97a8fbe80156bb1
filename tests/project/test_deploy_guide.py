"""docs/how-to/deploy.md: the unit is valid, and its broker starts, serves and stops in order."""

import configparser
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.project.shell_pages import blocks
from tests.project.tree import ROOT
from trio_kafka.broker import exit_status
from trio_kafka.broker.run import STOP_S
from trio_kafka.testing.processes import ask_api_versions, broker_process

PAGE = ROOT / "docs" / "how-to" / "deploy.md"
FILES = {
    match[1]: block.text.partition("\n")[2]
    for block in blocks(PAGE)
    if (match := re.match(r"# ([\w.-]+)\n", block.text)) is not None
}
UNIT = configparser.ConfigParser(interpolation=None, strict=False)
UNIT.optionxform = str  # type: ignore[assignment,method-assign] - names of systemd have capitals
UNIT.read_string(FILES["trio-kafka.service"])
DOCKERFILE = [
    line.split(maxsplit=1)
    for line in FILES["Dockerfile"].replace("\\\n", " ").splitlines()
    if line.strip()
]
CONFIG = "/etc/trio-kafka/broker.toml"


@pytest.mark.slow
def test_systemd_accepts_the_unit_of_the_deploy_guide(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed: apt-get install systemd")
    # The program and its user are not on this machine: others stand for them.
    text = FILES["trio-kafka.service"].replace("/opt/trio-kafka/bin/trio-kafka", sys.executable)
    unit = tmp_path / "trio-kafka.service"
    unit.write_text(text.replace("User=trio-kafka", "User=root"))

    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )

    assert [line for line in done.stderr.splitlines() if unit.name in line] == []


def test_systemd_unit_awaits_a_clean_stop_and_does_not_restart_after_permanent_errors() -> None:
    service = UNIT["Service"]

    assert int(service["TimeoutStopSec"]) > STOP_S
    prevented = {int(status) for status in service["RestartPreventExitStatus"].split()}
    assert prevented == {exit_status.NOT_STARTED, 2, exit_status.LOST_STORAGE}


def test_systemd_unit_and_container_run_the_same_command() -> None:
    arguments = UNIT["Service"]["ExecStart"].split()[1:]
    instructions = dict(line for line in DOCKERFILE if line[0] in ("ENTRYPOINT", "CMD"))

    assert instructions["ENTRYPOINT"] == '["trio-kafka"]'
    assert re.findall(r'"([^"]+)"', instructions["CMD"]) == arguments
    assert arguments[0] == "start"
    assert arguments[1] == CONFIG


def test_container_installs_the_wheel_of_the_current_version_with_its_extras() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wheel = f"trio_kafka-{project['version']}-py3-none-any.whl"

    assert ["COPY", f"{wheel} /tmp/"] in DOCKERFILE
    for file in ("Dockerfile",):
        extras = re.findall(rf"{re.escape(wheel)}\[([\w,]+)\]", FILES[file])
        assert extras == ["http,workers"]
        assert set(extras[0].split(",")) <= set(project["optional-dependencies"])
    words = {"FROM", "COPY", "RUN", "USER", "VOLUME", "EXPOSE", "STOPSIGNAL", "ENTRYPOINT", "CMD"}
    assert {line[0] for line in DOCKERFILE if not line[0].startswith("#")} <= words


@pytest.mark.slow
def test_broker_with_the_files_of_the_deploy_guide_serves_and_stops_cleanly(tmp_path: Path) -> None:
    (tmp_path / "broker.toml").write_text(FILES["broker.toml"])
    arguments = UNIT["Service"]["ExecStart"].split()[1:]

    def command(port: int, data: Path, settings: list[str]) -> list[str]:
        # Another address and directory than the page's: these may be in use here.
        address = f"PLAINTEXT://127.0.0.1:{port}"
        named = (f"listeners={address}", f"advertised.listeners={address}", f"log.dirs={data}")
        options = [word for setting in named for word in ("-c", setting)]
        own = [
            str(tmp_path / "broker.toml") if argument == CONFIG else argument
            for argument in arguments
        ]
        return [sys.executable, "-m", "trio_kafka", *own, *options]

    with broker_process(tmp_path, command=command) as broker:
        assert {0, 1, 3, 18} <= set(ask_api_versions(broker.address))
    assert broker.process.returncode == 0
    assert (broker.data / ".kafka_cleanshutdown").exists()
