"""`trio-kafka plugin new`: what it writes works at the first try, in its own tests and in a broker;
`list` and `reload` ask that broker, `check` looks at what is installed.
"""

import ast
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.plugin_host.packages import write
from tests.project.tree import ROOT
from trio_kafka.cli import main
from trio_kafka.cli.plugin.new import key_of
from trio_kafka.testing.processes import BrokerProcess, ask_api_versions, broker_process

NAME = "my-greeter"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of the path, in which a new package stands as an editable install leaves it."""
    target = tmp_path_factory.mktemp("new")
    assert main(["plugin", "new", NAME, "--directory", str(target)]) == 0
    project = tomllib.loads((target / "pyproject.toml").read_text())["project"]
    write(target, "my_greeter", {}, project["entry-points"]["trio_kafka.plugins"])
    return target


@pytest.fixture(scope="module")
def broker(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with ExitStack() as stack:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYTHONPATH", str(site))
            directory = tmp_path_factory.mktemp("broker")
            settings = f"plugin.{NAME}.greeting=Good day"
            started = stack.enter_context(broker_process(directory, settings))
        yield started


def at(broker: BrokerProcess) -> str:
    host, port = broker.address
    return f"{host}:{port}"


def run(site: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=site,
        env={**os.environ, "PYTHONPATH": f"{site}:{ROOT}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.slow
def test_tests_of_a_new_plugin_package_pass(site: Path) -> None:
    done = run(site, "pytest", "-q", "-p", "no:cacheprovider")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout


@pytest.mark.slow
def test_broker_serves_the_api_of_a_new_plugin(broker: BrokerProcess) -> None:
    assert ask_api_versions(broker.address)[key_of(NAME)] == (0, 0)


@pytest.mark.slow
def test_plugin_list_shows_a_new_plugin_as_text(
    broker: BrokerProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plugin", "list", NAME, "--bootstrap", at(broker)]) == 0

    out = capsys.readouterr().out
    assert "NAME" in out
    assert f"api:MyGreeter({key_of(NAME)})" in out
    assert "greeting=Good day longest.name=100" in out
    assert "Greet clients by name." in out


@pytest.mark.slow
def test_plugin_list_shows_a_new_plugin_as_json(
    broker: BrokerProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plugin", "list", NAME, "--bootstrap", at(broker), "--json"]) == 0

    [shown] = json.loads(capsys.readouterr().out)
    assert shown["state"] == "ready"
    assert shown["error"] is None
    assert shown["settings"] == {"greeting": "Good day", "longest.name": "100"}


@pytest.mark.slow
def test_plugin_reload_serves_changed_code_and_keeps_the_old_code_on_errors(
    broker: BrokerProcess, site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module = site / "my_greeter.py"
    before = module.read_text()
    try:
        module.write_text(before.replace('"""Greet clients by name."""', '"""Says hello."""'))
        assert main(["plugin", "reload", NAME, "--bootstrap", at(broker)]) == 0
        assert "serves" in capsys.readouterr().out

        module.write_text("raise ValueError('half written')\n")
        assert main(["plugin", "reload", NAME, "--bootstrap", at(broker)]) == 1
        assert "ValueError: half written" in capsys.readouterr().err

        main(["plugin", "list", NAME, "--bootstrap", at(broker)])
        assert "Says hello." in capsys.readouterr().out
    finally:
        module.write_text(before)
        assert main(["plugin", "reload", NAME, "--bootstrap", at(broker)]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("command", ["list", "reload"])
def test_unknown_plugin_name_is_refused(
    broker: BrokerProcess, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plugin", command, "nobody", "--bootstrap", at(broker)]) == 1
    assert "no plugin 'nobody'" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "status", "text"),
    [
        (f"plugin.{NAME}.greeting=Hi", 0, f"{NAME}: ok"),
        (f"plugin.{NAME}.greting=Hi", 1, f"did you mean plugin.{NAME}.greeting?"),
        (f"plugin.{NAME}.longest.name=0", 1, "0 is too small: want at least 1"),
        (f"plugin.{NAME}.enabled=false", 0, f"{NAME}: disabled"),
        ("plugin.my-greter.x=1", 1, f"no plugin my-greter is installed: did you mean {NAME}?"),
    ],
)
def test_plugin_check_accepts_valid_settings_and_reports_invalid_settings(
    site: Path, option: str, status: int, text: str
) -> None:
    done = run(site, "trio_kafka.cli", "plugin", "check", "-c", option)

    assert done.returncode == status, done.stdout + done.stderr
    assert text in done.stdout


@pytest.mark.slow
def test_plugin_check_names_a_module_that_cannot_be_imported(tmp_path: Path) -> None:
    write(tmp_path, "broken", {"broken.py": "raise SystemExit('no')\n"}, {"broken": "broken"})

    done = run(tmp_path, "trio_kafka.cli", "plugin", "check")

    assert done.returncode == 1
    assert "broken: error: its import failed: SystemExit: no" in done.stdout


@pytest.mark.parametrize("name", ["Greeter", "a b", "1st", "a.b", ""])
def test_invalid_plugin_name_is_refused_and_nothing_is_written(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plugin", "new", name, "--directory", str(tmp_path / "x")]) == 1
    assert "use a-z" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_api_key_outside_of_the_plugin_range_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["plugin", "new", "x", "--directory", str(tmp_path / "x"), "--key", "10001"]
    assert main(arguments) == 1
    assert "plugins have 10100 to 32767" in capsys.readouterr().err


def test_plugin_new_does_not_overwrite_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pyproject.toml").write_text("mine")

    assert main(["plugin", "new", "x", "--directory", str(tmp_path)]) == 1
    assert "exists" in capsys.readouterr().err
    assert (tmp_path / "pyproject.toml").read_text() == "mine"


def test_plugin_new_writes_valid_python_without_placeholders(tmp_path: Path) -> None:
    assert main(["plugin", "new", "a_b-c", "--directory", str(tmp_path), "--key", "20000"]) == 0

    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.name for path in files} == {
        "README.md",
        "pyproject.toml",
        "a_b_c.py",
        "test_a_b_c.py",
    }
    for path in files:
        assert "@MODULE@" not in path.read_text()
        assert "@NAME@" not in path.read_text()
        if path.suffix == ".py":
            ast.parse(path.read_text())


def test_plugin_new_json_names_key_and_files(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)

    assert main(["plugin", "new", "greeter", "--key", "10200", "--json"]) == 0

    result = json.loads(capsys.readouterr().out)
    assert (result["name"], result["key"]) == ("greeter", 10200)
    assert all((tmp_path / file).is_file() for file in result["files"])
    assert main(["plugin", "new", "greeter"]) == 1
    assert "exists already: remove it, or choose another --directory" in capsys.readouterr().err
