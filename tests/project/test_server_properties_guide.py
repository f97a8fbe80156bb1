"""docs/how-to/server-properties.md: a broker starts on the file that it shows."""

import re
from pathlib import Path

import pytest

from tests.project.tree import ROOT
from trio_kafka.cli import main
from trio_kafka.testing.processes import ask_api_versions, broker_process, trio_kafka_command

GUIDE = (ROOT / "docs" / "how-to" / "server-properties.md").read_text()
[BLOCK] = re.findall(r"^ *```properties\n(.*?)^ *```$", GUIDE, re.MULTILINE | re.DOTALL)
LINES = [line.strip() for line in BLOCK.splitlines()]
COMMANDS = re.findall(r"^       trio-kafka (.*)$", GUIDE, re.MULTILINE)


def write(directory: Path) -> Path:
    """The file of the page, with a data directory of its own."""
    file = directory / "server.properties"
    file.write_text("\n".join(LINES) + f"\nlog.dirs={directory / 'data'}\n")
    return file


@pytest.mark.parametrize(
    "command", [command for command in COMMANDS if not command.startswith("start")]
)
def test_commands_of_the_guide_accept_the_server_properties_file(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path)
    monkeypatch.chdir(tmp_path)

    assert main(command.split()) == 0


@pytest.mark.slow
def test_broker_serves_with_the_server_properties_of_the_guide(tmp_path: Path) -> None:
    file = write(tmp_path)

    def command(port: int, data: Path, settings: list[str]) -> list[str]:
        # Another port: 9092 may be taken. All else is as the page has it.
        address = f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://:9093"
        properties = (
            f"listeners={address}",
            f"advertised.listeners={address}".replace("//:", "//localhost:"),
        )
        options = [part for setting in properties for part in ("-c", setting)]
        program = trio_kafka_command(port, data, settings)[:3]
        return [*program, "start", "--format-if-empty", str(file), *options]

    with broker_process(tmp_path, command=command) as broker:
        assert {0, 1, 3, 18} <= set(ask_api_versions(broker.address))
    assert broker.process.returncode == 0
