import subprocess
import sys

import pytest

from trio_kafka.cli import main


def test_version_is_printed_and_the_status_is_0(capsys):
    assert main(["version"]) == 0

    assert capsys.readouterr().out.startswith("trio-kafka ")


def test_the_version_option_says_the_same_as_the_command(capsys):
    main(["version"])
    by_command = capsys.readouterr().out
    main(["--version"])

    assert capsys.readouterr().out == by_command


def test_help_lists_the_commands(capsys):
    assert main(["--help"]) == 0

    text = capsys.readouterr().out
    for command in ("start", "format", "version"):
        assert f" {command} " in text


@pytest.mark.parametrize("command", ["start", "format", "version"])
def test_each_command_has_a_help_text_of_its_own(command, capsys):
    assert main([command, "--help"]) == 0

    assert f"trio-kafka {command}" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["strat"], ["start", "--no-such-option"], ["version", "x"]])
def test_what_is_no_command_or_option_ends_with_a_status_of_failure(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        main(arguments)

    assert caught.value.code not in (0, None)
    assert capsys.readouterr() != ("", "")


@pytest.mark.slow
@pytest.mark.parametrize("module", ["trio_kafka", "trio_kafka.cli"])
def test_the_package_runs_as_a_module(module):
    done = subprocess.run(
        [sys.executable, "-m", module, "version"], capture_output=True, text=True, check=True
    )

    assert done.stdout.startswith("trio-kafka ")


@pytest.mark.slow
def test_a_command_imports_no_other_and_neither_trio_nor_rich():
    code = (
        "import sys; from trio_kafka.cli import main; main(['version']);"
        "print(*{'trio', 'rich', 'structlog', 'trio_kafka.cli.start', 'trio_kafka.config'}"
        " & set(sys.modules))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[1:] == [""]
