"""`trio-kafka snapshot` and `trio-kafka record`, against a broker in a process."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from trio_kafka.cli import main

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def at() -> Iterator[str]:
    command = [sys.executable, "-m", "trio_kafka", "start", "--testing", "--with-parent"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        testing = json.loads(process.stdout.readline())["testing"][0]
        yield f"http://{urlsplit(testing).netloc}/admin"
        process.terminate()


def test_a_snapshot_is_written(at: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "kept.html"
    file.write_text("old")

    status = main(["snapshot", "--at", at, "-o", str(file), "--anonymous"])

    assert status == 0
    assert file.read_text().startswith("<!doctype html>")
    assert file.read_text().endswith("</html>")
    assert capsys.readouterr().out == f"{file}: {file.stat().st_size:,} bytes\n"
    assert list(tmp_path.iterdir()) == [file]


def test_a_trace_is_written(at: str, tmp_path: Path) -> None:
    file = tmp_path / "trace.json"

    assert main(["record", "--at", at, "-o", str(file), "--seconds", "1"]) == 0
    assert json.loads(file.read_text())["traceEvents"]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--at", "ftp://localhost"], "want an address that begins with http://"),
        (["--at", "http://127.0.0.1:1"], "is the broker running?"),
        ([], "no address: give --at URL or set TRIO_KAFKA_ADMIN"),
    ],
)
def test_the_error_of_a_wrong_address_says_what_to_do(
    words: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["snapshot", *words]) != 0
    assert reason in capsys.readouterr().err


def test_refusals_of_the_broker_are_shown_and_nothing_is_written(
    at: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "trace.json"

    assert main(["record", "--at", at, "-o", str(file), "--seconds", "99"]) == 1
    assert main(["record", "--at", f"{at}/nowhere", "-o", str(file)]) == 1
    assert main(["snapshot", "--at", at, "-o", str(tmp_path / "no" / "file")]) == 1
    errors = capsys.readouterr().err

    assert "seconds" in errors
    assert "404" in errors
    assert "No such file or directory" in errors
    assert list(tmp_path.iterdir()) == []
