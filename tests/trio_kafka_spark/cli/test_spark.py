"""The table of `trio-kafka spark`: each command is there, and nothing heavy is imported for it."""

import subprocess
import sys

import pytest

from trio_kafka.cli import main
from trio_kafka.install_hint import install_command
from trio_kafka_spark.cli.spark import COMMANDS, INSTALL


@pytest.mark.parametrize("command", COMMANDS)
def test_each_spark_command_has_its_own_help_text(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["spark", command, "--help"]) == 0

    text = capsys.readouterr().out
    assert text.startswith(f"usage: trio-kafka spark {command} [-h]")
    assert text.split("\n\n")[1][0].isupper()


def test_the_help_line_of_each_command_ends_with_a_full_stop() -> None:
    assert [line for _, line in COMMANDS.values() if not line.endswith(".")] == []


@pytest.mark.slow
@pytest.mark.parametrize("module", ["trio_kafka_spark.cli.spark", "trio_kafka_spark.cli.pipeline"])
def test_a_module_of_commands_imports_only_the_standard_library(module: str) -> None:
    code = (
        f"import sys; before = set(sys.modules); import {module};"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert set(done.stdout.split()) <= {"trio_kafka_spark"} | sys.stdlib_module_names


@pytest.mark.slow
@pytest.mark.parametrize("words", [["pipeline", "run"], ["spark", "missing"]])
def test_without_pyspark_a_command_fails_with_the_package_to_install(
    words: list[str], tmp_path
) -> None:
    (tmp_path / "spark-pipeline.yml").touch()
    code = f"""
import sys
from importlib import util
from trio_kafka.cli import main
from trio_kafka_spark.cli import spark
spark.COMMANDS = {{"missing": ("missing:missing", "Import pyspark.")}}
sys.modules["pyspark"] = None
find_spec = util.find_spec
util.find_spec = lambda name, package=None: None if name == "pyspark" else find_spec(name, package)
sys.path.insert(0, "")
sys.exit(main({words!r}))
"""
    (tmp_path / "missing.py").write_text("import pyspark")

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == 2
    assert install_command(INSTALL) in done.stderr
    assert "module pyspark is not installed" in done.stderr
