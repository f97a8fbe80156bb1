"""`trio-kafka pipeline init` writes a pipeline, once."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from trio_kafka.cli import main
from trio_kafka_builtin.pipelines.definition import read_definition
from trio_kafka_spark.pipeline.template import FILES


def init(*words: str) -> int:
    return main(["pipeline", "init", *words])


def test_pipeline_init_writes_the_files_and_prints_the_next_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    assert init("orders", "--topic", "shop.orders") == 0

    out = capsys.readouterr().out.splitlines()
    assert [f"orders/{path}" for path in FILES] == out[: len(FILES)]
    assert out[-1] == "Next: trio-kafka pipeline run orders"
    spec = (tmp_path / "orders" / "spark-pipeline.yml").read_text()
    assert "name: orders\n" in spec
    storage = (tmp_path / "orders" / "pipeline-storage").resolve()
    assert f'storage: "{storage.as_uri()}"\n' in spec
    assert storage.is_dir()
    assert '"shop.orders"' in (tmp_path / "orders" / "transformations" / "tables.py").read_text()
    for path in FILES:
        assert not re.search(r"@[A-Z]+@", (tmp_path / "orders" / path).read_text())


def test_the_written_pipeline_definition_is_valid_for_the_broker(tmp_path: Path) -> None:
    target = tmp_path / 'a "quoted" \\ path'
    assert init("orders", "--directory", str(target)) == 0

    text = (target / "pipeline.toml").read_text()
    definition = read_definition("orders", text, "/etc")
    assert definition.directory == str(target)
    assert definition.command == ("trio-kafka", "pipeline", "run", ".")
    assert tomllib.loads(text)["restart"] == "always"


def test_pipeline_init_refuses_to_overwrite_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "README.md").write_text("mine")

    assert init("orders", "--directory", str(tmp_path)) == 1

    assert f"{tmp_path}/README.md: exists already" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]
    assert (tmp_path / "README.md").read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["Orders"], "'Orders' is not a pipeline name"),
        (["a/b"], "is not a pipeline name"),
        ([""], "is not a pipeline name"),
        (["a", "--topic", 'x"y'], "'x\"y' is not a topic name: use at most 249"),
        (["a", "--topic", ""], "'' is not a topic name"),
        (["a", "--directory", "/proc/nothing"], "/proc/nothing"),
    ],
)
def test_pipeline_init_refuses_invalid_arguments_with_the_reason(
    words: list[str],
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)

    assert init(*words) == 1

    assert why in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_pipeline_init_prints_the_written_files_as_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    assert init("orders", "--json") == 0

    result = json.loads(capsys.readouterr().out)
    assert result["name"] == "orders"
    assert all(Path(file).is_file() for file in result["files"])
