import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project.tree import ROOT

HANDLERS = ROOT / "plugins" / "trio_kafka_apis"
DOOR = re.compile(r"trio_kafka\.(plugin|protocol\.messages\.k\d+_\w+)")


def lint_imports(tree: Path) -> subprocess.CompletedProcess[str]:
    """import-linter on the packages of one tree, which need not be the installed one."""
    return subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tree), str(tree / "plugins")])},
        capture_output=True,
        text=True,
        check=False,
    )


def ruff(tree: Path, text: str, where: str) -> str:
    """What ruff, with the project's settings, says of a file of this text."""
    shutil.copy(ROOT / "pyproject.toml", tree)
    path = tree / where
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return subprocess.run(
        [str(Path(sys.executable).with_name("ruff")), "check", "--no-cache", str(path)],
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
    ).stdout


@pytest.mark.slow
def test_every_package_imports_only_what_is_below_it() -> None:
    checked = lint_imports(ROOT)

    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "line", "broken"),
    [
        ("trio_kafka/world/upwards.py", "import trio_kafka.introspect.tree", "imports only what"),
        ("trio_kafka/strange/__init__.py", "", "imports only what"),
        ("trio_kafka/introspect/heavy.py", "import numpy", "The core imports no plugin"),
        (
            "trio_kafka/introspect/plugged.py",
            "import trio_kafka_apis",
            "The core imports no plugin",
        ),
        ("trio_kafka/protocol/waits.py", "import trio", "sans-IO"),
        (
            "plugins/trio_kafka_apis/k99_b.py",
            "import trio_kafka_apis.k98_a",
            "do not import one another",
        ),
    ],
)
def test_a_forbidden_import_is_found(tmp_path: Path, module: str, line: str, broken: str) -> None:
    for name in ("trio_kafka", "plugins"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "plugins/trio_kafka_apis/k98_a.py").touch()
    (tmp_path / module).parent.mkdir(exist_ok=True)
    (tmp_path / module).write_text(line + "\n")

    checked = lint_imports(tmp_path)

    assert checked.returncode == 1
    assert broken in " ".join(checked.stdout.partition("Broken contracts")[2].split())


def test_handlers_know_the_door_for_plugins_and_messages_only() -> None:
    strangers = [
        f"{path.name}: {name}"
        for path in sorted(HANDLERS.glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        for name in imported(node)
        if name.startswith("trio_kafka") and not DOOR.fullmatch(name)
    ]

    assert strangers == []


def imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else []


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        "import socket",
        "import select",
        "import os",
        "from os import path",
        "import mmap",
        "import threading",
        "import time",
        "import random",
        "import subprocess",
        "import tempfile",
        "from pathlib import Path",
        "from uuid import uuid4",
        "from trio.lowlevel import wait_readable",
        "from trio import socket",
        "from trio import to_thread",
        'open("file")',
    ],
)
def test_only_the_world_may_touch_the_machine(tmp_path: Path, line: str) -> None:
    rule = "PTH123" if "open" in line else "TID251"  # no rule bans a builtin by its name

    assert rule in ruff(tmp_path, f'"""A part."""\n\n{line}\n', "trio_kafka/log/part.py")
    assert rule not in ruff(tmp_path, f'"""A door."""\n\n{line}\n', "trio_kafka/world/door.py")
