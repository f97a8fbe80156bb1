import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.project.tree import ROOT

HANDLERS = ROOT / "plugins" / "trio_kafka_apis"
EXAMPLES = ROOT / "examples" / "plugins"
CLIENT = {"trio_kafka.errors", "trio_kafka.model", "trio_kafka.peers.blocking"}
DOOR = re.compile(r"trio_kafka\.(plugin|protocol\.messages\.k\d+_\w+|protocol\.structs\.\w+)")


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


def broken_contracts(output: str) -> dict[str, str]:
    """Messages of import-linter by the name of the broken contract, without line breaks."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    text = " ".join(output.partition("Broken contracts")[2].split())
    places = {text.find(contract["name"]): contract["name"] for contract in declared["contracts"]}
    starts = sorted(start for start in places if start >= 0)
    ends = [*starts[1:], len(text)]
    return {places[start]: text[start:end] for start, end in zip(starts, ends, strict=True)}


def ruff(tree: Path, text: str, where: str) -> str:
    """Output of ruff, with the project's settings, for a file of this text."""
    shutil.copy(ROOT / "pyproject.toml", tree)
    path = tree / where
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    program = str(Path(sys.executable).with_name("ruff"))
    return subprocess.run(
        [program, "check", "--no-cache", "--output-format=concise", str(path)],
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
    ).stdout


@pytest.mark.slow
def test_every_package_imports_only_packages_of_lower_layers() -> None:
    checked = lint_imports(ROOT)

    assert checked.returncode == 0, checked.stdout + checked.stderr


TYPES_ONLY = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    "
# Modules that break a contract, with what they hold and a part of the contract's name.
BREAKING = {
    "trio_kafka/world/upwards.py": ("import trio_kafka.introspect.tree", "imports only what"),
    "trio_kafka/introspect/heavy.py": ("import numpy", "The core imports no plugin"),
    "trio_kafka/introspect/plugged.py": ("import trio_kafka_apis", "The core imports no plugin"),
    "trio_kafka/protocol/waits.py": ("import trio", "sans-IO"),
    "plugins/trio_kafka_apis/k99_b.py": (
        "import trio_kafka_apis.k98_a",
        "API handlers do not import one another",
    ),
    "plugins/trio_kafka_builtin/kit.py": ("import trio_kafka.testing", "No plugin imports the"),
    "plugins/trio_kafka_metrics/other.py": (
        "import trio_kafka_spark",
        "Plugins know the HTTP plane",
    ),
    "plugins/trio_kafka_metrics/names.py": (
        f"{TYPES_ONLY}import trio_kafka_metrics.plugin",
        "do not import one another in cycles",
    ),
}
STRANGE = {"trio_kafka/strange/__init__.py": ("", "imports only what")}


@pytest.mark.slow
@pytest.mark.parametrize("breaking", [BREAKING, STRANGE], ids=["imports", "package"])
def test_import_linter_reports_each_forbidden_import_under_its_contract(
    tmp_path: Path, breaking: dict[str, tuple[str, str]]
) -> None:
    """All imports in one tree: each run reads the whole of it."""
    for name in ("trio_kafka", "plugins"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "plugins/trio_kafka_apis/k98_a.py").touch()
    for module, (text, _) in breaking.items():
        (tmp_path / module).parent.mkdir(exist_ok=True)
        (tmp_path / module).write_text(text + "\n")

    checked = lint_imports(tmp_path)

    assert checked.returncode == 1
    reports = broken_contracts(checked.stdout)
    for module, (_, contract) in breaking.items():
        name = module.partition("plugins/")[2] or module
        imports = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        [report] = [text for title, text in reports.items() if contract in title]
        cycle = rf"\.{imports.rpartition('.')[2]} -> "  # how the contract of cycles says it
        assert re.search(rf"{re.escape(imports)}\b|{cycle}", report), report


def test_single_file_examples_import_only_the_plugin_api_and_protocol_messages() -> None:
    """Those that are packages are import-linter's; clients are programs, and use peers too."""
    unknown_plugins = [
        f"{path.name}: {name}"
        for path in sorted(EXAMPLES.glob("*/*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        for name in imported(node)
        if name.startswith("trio_kafka")
        and not DOOR.fullmatch(name)
        and name not in {"trio_kafka.protocol", "trio_kafka.protocol.schema"}
        and not (path.name == "client.py" and name in CLIENT)
    ]

    assert unknown_plugins == []


@pytest.mark.slow
def test_packaged_examples_import_only_modules_allowed_for_plugins() -> None:
    places = sorted(str(path.parent) for path in EXAMPLES.glob("*/pyproject.toml"))
    program = str(Path(sys.executable).with_name("lint-imports"))
    checked = subprocess.run(
        [program, "--no-cache", "--config", str(EXAMPLES / "importlinter.toml")],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(places)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_make_checks_types_and_layers_of_every_packaged_example() -> None:
    stdout = subprocess.run(
        ["make", "-n", "types", "layers"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for example in EXAMPLES.glob("*/pyproject.toml"):
        assert stdout.count(f"examples/plugins/{example.parent.name}") == 2


def imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else []


# What goes around World, as somebody would write it; and what forbids it, by ruff's settings.
BANNED = {
    "import socket": "socket",
    "import select": "select",
    "import os": "os",
    "from os import path": "os",
    "import mmap": "mmap",
    "import threading": "threading",
    "import time": "time",
    "from time import monotonic": "time",
    "import random": "random",
    "from random import Random": "random",
    "import secrets": "secrets",
    "from secrets import token_bytes": "secrets",
    "import subprocess": "subprocess",
    "import multiprocessing": "multiprocessing",
    "from multiprocessing import Process": "multiprocessing",
    "import shutil": "shutil",
    "from shutil import rmtree": "shutil",
    "import tempfile": "tempfile",
    "from pathlib import Path": "pathlib",
    "from uuid import uuid1": "uuid.uuid1",
    "from uuid import uuid4": "uuid.uuid4",
    "import uuid\n\nuuid.uuid4()": "uuid.uuid4",
    "import datetime\n\ndatetime.datetime.now(datetime.UTC)": "datetime.datetime.now",
    "from datetime import UTC, datetime\n\ndatetime.now(UTC)": "datetime.datetime.now",
    "from datetime import datetime\n\ndatetime.utcnow()": "datetime.datetime.utcnow",
    "from trio.lowlevel import wait_readable": "trio.lowlevel.wait_readable",
    "import trio\n\ntrio.lowlevel.wait_writable": "trio.lowlevel.wait_writable",
    "from trio import socket": "trio.socket",
    "from trio import to_thread": "trio.to_thread",
    "import trio\n\ntrio.to_thread.run_sync": "trio.to_thread",
}


@pytest.mark.slow
@pytest.mark.parametrize("text", [*BANNED, 'open("file")'])
def test_ruff_bans_operating_system_access_outside_the_world_package(
    tmp_path: Path, text: str
) -> None:
    # No rule bans a builtin by its name.
    result = f"TID251 `{BANNED[text]}` is banned" if text in BANNED else "PTH123"

    for place in ("trio_kafka/log/part.py", "plugins/trio_kafka_apis/k99_part.py"):
        assert result in ruff(tmp_path, f'"""A part."""\n\n{text}\n', place)
    door = ruff(tmp_path, f'"""A door."""\n\n{text}\n', "trio_kafka/world/door.py")
    assert result not in door


def test_every_api_banned_by_ruff_has_a_test_case() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    banned = settings["tool"]["ruff"]["lint"]["flake8-tidy-imports"]["banned-api"]

    assert set(BANNED.values()) == set(banned)
