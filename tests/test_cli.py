import gc
import os
import subprocess
import sys

import pytest

from trio_kafka.cli import main, version
from trio_kafka.cli.commands import COMMANDS


def test_version_is_printed_and_the_status_is_0(capsys):
    assert main(["version"]) == 0

    assert capsys.readouterr().out.startswith("trio-kafka ")


def test_version_option_prints_the_same_as_the_version_command(capsys):
    main(["version"])
    by_command = capsys.readouterr().out
    main(["--version"])

    assert capsys.readouterr().out == by_command


def test_without_a_word_the_commands_that_people_need_are_shown(capsys):
    assert main([]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("  trio-kafka ") for line in lines) == 10
    for line in lines:
        words = line.split()
        if words[:1] == ["trio-kafka"]:
            assert {" ".join(words[1:2]), " ".join(words[1:3])} & set(COMMANDS)


@pytest.mark.parametrize("arguments", [["-h"], ["--help"]])
def test_help_lists_the_commands(arguments, capsys):
    assert main(arguments) == 0

    text = capsys.readouterr().out
    for command in ("start", "format", "version"):
        assert f" {command} " in text


def test_a_group_lists_its_commands(capsys):
    assert main(["plugin", "--help"]) == 0

    text = capsys.readouterr().out
    for command in ("list", "new", "check", "reload"):
        assert f" {command} " in text
    assert " lint " not in text


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_its_own_help_text(command, capsys):
    assert main([*command.split(), "--help"]) == 0

    text = capsys.readouterr().out
    assert text.startswith(f"usage: trio-kafka {command} [-h]")
    assert text.split("\n\n")[1][0].isupper()  # what it does


def test_process_of_a_command_ends_without_collecting_what_it_has_imported(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["trio-kafka", "version"])
    before = gc.get_freeze_count()

    try:
        main(["version"])
        within = gc.get_freeze_count()
        main()
        assert gc.get_freeze_count() > within == before
    finally:
        gc.unfreeze()
    assert capsys.readouterr().out


def test_garbage_collector_runs_rarely_in_a_command_and_is_restored_afterwards(monkeypatch):
    seen = []
    monkeypatch.setattr(version, "version", lambda json: seen.append(gc.get_threshold()) or 0)
    before = gc.get_threshold()
    gc.set_threshold(701, 11, 12)
    try:
        main(["version"])
        after = gc.get_threshold()
    finally:
        gc.set_threshold(*before)

    ((_, *older),) = seen
    assert min(older) >= 1000
    assert after == (701, 11, 12)


@pytest.mark.parametrize(
    ("arguments", "where", "named"),
    [
        (["strat"], "", "unknown command 'strat'; did you mean 'start'?"),
        (["explain"], "", "unknown command 'explain'; did you mean 'config explain'?"),
        (["sparc", "usage"], "", "unknown command 'sparc'; did you mean 'spark'?"),
        (["no-such-thing"], "", "unknown command 'no-such-thing'; `trio-kafka --help` lists"),
        (["spark", "dmp"], "spark", "unknown command 'dmp'; did you mean 'dump'?"),
        (["-x", "start"], "", "-x"),
        (["--", "start"], "", "COMMAND"),
        (["config"], "config", "COMMAND"),
        (["config", "lin"], "config", "unknown command 'lin'; did you mean 'lint'?"),
        (["start", "--no-such-option"], "start", "--no-such-option"),
        (["tree", "--boot", "h:1"], "tree", "--bootstrap"),  # which it only begins
        (["version", "x"], "version", "x"),
        (["tree", "--jsn"], "tree", "--jsn; did you mean --json?"),
        (["tree", "--bootstrap", "h:1", "--depth", "all"], "tree", "--depth: invalid int value"),
        (
            ["requests", "newest", "--bootstrap", "h:1"],
            "requests",
            "'newest' (choose from 'in-flight'",
        ),
    ],
)
def test_unknown_command_or_option_is_named_and_ends_with_status_2(arguments, where, named, capsys):
    assert main(arguments) == 2

    out, error = capsys.readouterr()
    assert out == ""
    assert error.startswith("usage: trio-kafka ")
    assert f"trio-kafka{' ' * bool(where)}{where}: error: " in error
    assert named in error


@pytest.mark.slow
@pytest.mark.parametrize("module", ["trio_kafka", "trio_kafka.cli"])
def test_the_package_runs_as_a_module(module):
    done = subprocess.run(
        [sys.executable, "-m", module, "version"], capture_output=True, text=True, check=True
    )

    assert done.stdout.startswith("trio-kafka ")


@pytest.mark.slow
def test_version_command_imports_neither_trio_nor_another_command():
    code = (
        "import sys; from trio_kafka.cli import main; main(['version']);"
        "print(*{'trio', 'attrs', 'structlog', 'trio_kafka.cli.start', 'trio_kafka.config'}"
        " & set(sys.modules))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[1:] == [""]


def test_command_whose_output_pipe_is_closed_ends_with_status_141_and_no_message() -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "trio_kafka", "version"]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)

    assert (done.returncode, done.stderr) == (141, "")
