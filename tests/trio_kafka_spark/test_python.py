import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from trio_kafka_spark.python import worker_python

SHOW = "import os, sys; print(sys.executable, os.environ['PYTHONPATH'], *sys.argv[1:], sep='|')"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a cache"))
    return tmp_path / "a cache"


def test_workers_run_this_interpreter_without_the_pyspark_archives_on_its_path(cache: Path) -> None:
    launcher = worker_python({}, local=True)

    archives = ["/s/python/lib/pyspark.zip", "/s/python/lib/py4j-0.10.9.9-src.zip"]
    others = ["/s/jars/core.jar", "/a b", "/x/*", "/other/pyspark.zip"]
    path = ":".join([*archives, *others])
    process = subprocess.run(
        [launcher, "-c", SHOW, "a b", "", "*"],
        env={"PYTHONPATH": path},
        capture_output=True,
        check=True,
        text=True,
    )

    assert launcher.startswith(str(cache))
    assert process.stdout == f"{sys.executable}|{':'.join(others)}|a b||*\n"


def test_the_worker_launcher_is_rewritten_only_if_its_text_differs(cache: Path) -> None:
    launcher = Path(worker_python({}, local=True))
    text, written = launcher.read_text(), launcher.stat().st_ino

    assert worker_python({"PYSPARK_PYTHON": str(launcher)}, local=True) == str(launcher)
    assert launcher.stat().st_ino == written
    launcher.write_text("old")
    worker_python({"PYSPARK_PYTHON": sys.executable}, local=True)
    assert launcher.read_text() == text
    assert os.access(launcher, os.X_OK)


def test_an_interpreter_in_pyspark_python_is_kept(cache: Path) -> None:
    for local in (True, False):
        assert worker_python({"PYSPARK_PYTHON": "/other"}, local=local) == "/other"
    assert not cache.exists()


def test_workers_on_other_machines_run_this_interpreter_without_a_launcher(cache: Path) -> None:
    launcher = worker_python({}, local=True)

    assert worker_python({}, local=False) == sys.executable
    assert worker_python({"PYSPARK_PYTHON": launcher}, local=False) == sys.executable


def test_a_spark_home_outside_this_environment_uses_no_launcher(cache: Path) -> None:
    assert worker_python({"SPARK_HOME": "/opt/spark"}, local=True) == sys.executable
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    home = str(Path(spec.origin).parent)
    assert worker_python({"SPARK_HOME": home}, local=True) != sys.executable


def test_without_a_writable_cache_workers_run_this_interpreter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))

    assert worker_python({}, local=True) == sys.executable
