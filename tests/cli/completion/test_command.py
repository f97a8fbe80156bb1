"""`trio-kafka completion`, in shells."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.kit import Shell
from trio_kafka.cli import main
from trio_kafka.cli.completion.command import SCRIPTS

BASH = """
eval "$(trio-kafka completion bash)"
complete -p trio-kafka
COMP_LINE="trio-kafka topic describe --bootstrap $AT b"
COMP_POINT=${#COMP_LINE}
_trio_kafka
printf '%s\\n' "${COMPREPLY[@]}"
"""


def test_json_has_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "fish", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"shell": "fish", "script": SCRIPTS["fish"]}


@pytest.mark.parametrize("shell_name", SCRIPTS)
def test_shell_reads_its_script(shell_name: str) -> None:
    run(shell_name, ["-n"], SCRIPTS[shell_name])


def test_bash_completes_topics_of_a_cluster(shell: Shell) -> None:
    shell.kafka.create_topic("bees")
    shell.kafka.create_topic("birds")

    output = run("bash", [], BASH, AT=shell.kafka.bootstrap)

    assert output.splitlines() == [
        "complete -o default -F _trio_kafka trio-kafka",
        "bees",
        "birds",
    ]


def run(shell_name: str, options: list[str], script: str, **variables: str) -> str:
    """Output of a script in a shell, which finds the command of this environment."""
    if shutil.which(shell_name) is None:
        pytest.skip(f"{shell_name} is not installed: apt-get install {shell_name}")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment: Mapping[str, str] = {**os.environ, "PATH": path, **variables}
    ended = subprocess.run(
        [shell_name, *options],
        input=script,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert ended.stderr == ""
    return ended.stdout
