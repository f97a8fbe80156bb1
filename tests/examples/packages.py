"""The example packages: installed, tested and told of as their readers do it."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from tests.project.tree import ROOT
from trio_kafka.testing.processes import BrokerProcess, broker_process

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ADDRESS = "127.0.0.1:9092"


@frozen
class Example:
    """A package under `examples/plugins`."""

    name: str

    @property
    def path(self) -> Path:
        return ROOT / "examples" / "plugins" / self.name

    @property
    def pyproject(self) -> dict[str, Any]:
        return tomllib.loads((self.path / "pyproject.toml").read_text())

    @property
    def entry_points(self) -> str:
        """As an installer writes them."""
        lines = []
        for group, points in self.pyproject["project"]["entry-points"].items():
            lines += [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
        return "\n".join(lines) + "\n"

    def blocks(self, language: str) -> list[str]:
        """Those of its README."""
        blocks = BLOCK.findall((self.path / "README.md").read_text())
        return [text for kind, text in blocks if kind == language]

    def install(self, target: Path) -> None:
        """Install its modules and the metadata that name its entry points, as an installer does."""
        project = self.pyproject["project"]
        for name in self.pyproject["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]:
            source = self.path / name
            if source.is_dir():
                shutil.copytree(source, target / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, target)
        info = target / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.3\nName: {project['name']}\nVersion: {project['version']}\n"
        )
        (info / "entry_points.txt").write_text(self.entry_points)

    def build_wheel(self, target: Path) -> Path:
        pytest.importorskip("hatchling", reason="hatchling is not installed")
        bytecode = shutil.ignore_patterns("__pycache__")  # other workers write it meanwhile
        shutil.copytree(self.path, target / "source", ignore=bytecode)
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)]
        done = subprocess.run(
            command, cwd=target / "source", capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        [wheel] = target.glob("*.whl")
        return wheel

    def run_tests(self) -> str:
        """Output of pytest in its directory. Fails where a test does, or is skipped."""
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
            cwd=self.path,
            env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'plugins'}"},
            capture_output=True,
            text=True,
            timeout=55,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "skipped" not in done.stdout, done.stdout
        return done.stdout


@contextmanager
def serving(example: Example, directory: Path, *settings: str) -> Iterator[BrokerProcess]:
    """A broker process in whose path the example is installed."""
    packages = directory / "packages"
    packages.mkdir()
    example.install(packages)
    with ExitStack() as stack:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYTHONPATH", str(packages))
            started = stack.enter_context(broker_process(directory, *settings))
        yield started


def run_at(broker: BrokerProcess, command: str, **places: str) -> str:
    """Output of a line of a README at this broker; `places`: replacements for other names in it."""
    for name, place in {ADDRESS: broker.bootstrap, **places}.items():
        command = command.replace(name, place)
    programs = Path(sys.executable).parent
    done = subprocess.run(
        ["bash", "-ec", command],
        cwd=ROOT,
        env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout
