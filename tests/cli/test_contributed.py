"""Commands that plugins contribute."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from trio_kafka.cli import main
from trio_kafka.cli.contributed import GROUP

INIT = '''
    """Things for tests, 100 % of them.

    More.
    """

    INSTALL = "tools[all]"
    COMMANDS = {
        "hello": ("tools.hello:hello", "Greet, 100 %."),
        "absent": ("tools.absent:absent", "Want what is not there."),
        "late": ("tools.late:late", "Want it later."),
        "typo": ("tools.no_such:typo", "Not there."),
        "bad": ("tools.bad:bad", "Broken."),
    }
'''
FILES = {
    "__init__.py": INIT,
    "hello.py": '''
        def declare(parser):
            parser.add_argument("--name", default="you")

        def hello(*, name):
            """Greet."""
            print("hello", name)
            return 3
    ''',
    "absent.py": "import no_such_module",
    "late.py": '''
        def declare(parser): ...

        def late():
            """Import later."""
            import no_such_module
    ''',
    "bad.py": "def declare(parser): ...\n1 / 0",
    "alone.py": '''
        """One command."""
        COMMANDS = {"": ("tools.alone:run", "Stand alone.")}

        def declare(parser): ...

        def run():
            """Stand alone."""
            return 0
    ''',
    "wrong.py": "COMMANDS = {'a b': ('x', 'y')}",
    "broken.py": "raise RuntimeError('no luck')",
}
Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Write a package `tools` and distributions with entry points, by name of the distribution."""
    package = tmp_path / "tools"
    package.mkdir()
    for name, text in FILES.items():
        (package / name).write_text(dedent(text))
    monkeypatch.syspath_prepend(tmp_path)

    def write(**distributions: dict[str, str]) -> None:
        for name, points in distributions.items():
            info = tmp_path / f"{name}-1.0.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(f"Metadata-Version: 2.3\nName: {name}\nVersion: 1.0\n")
            lines = [f"[{GROUP}]", *(f"{word} = {value}" for word, value in points.items())]
            (info / "entry_points.txt").write_text("\n".join(lines) + "\n")

    yield write
    for name in [module for module in sys.modules if module.partition(".")[0] == "tools"]:
        del sys.modules[name]


def test_contributed_command_gets_its_arguments_and_returns_its_status(
    install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install(tools={"tool": "tools"})

    assert main(["tool", "hello", "--name", "me"]) == 3

    assert capsys.readouterr().out == "hello me\n"
    assert main(["tool", "hello", "--nam", "me"]) == 2
    assert "usage: trio-kafka tool hello [-h]" in capsys.readouterr().err


def test_help_lists_contributed_commands(
    install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install(tools={"tool": "tools", "alone": "tools.alone"})

    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert " tool " in text
    assert "Things for tests, 100 % of them." in text
    assert " alone " in text
    assert "cannot be used" not in text

    assert main(["tool", "--help"]) == 0
    text = capsys.readouterr().out
    assert "Greet, 100 %." in text
    assert "absent" in text
    assert "tools.hello" not in sys.modules


def test_contributed_command_may_have_one_word(install: Install) -> None:
    install(tools={"alone": "tools.alone"})

    assert main(["alone"]) == 0


@pytest.mark.parametrize(
    ("module", "why"),
    [
        ("tools.broken", "RuntimeError: no luck"),
        ("tools.wrong", "COMMANDS['a b'] is ('x', 'y'), want one word and"),
        ("tools.hello", "no attribute 'COMMANDS'"),
        ("no_such_module", "No module named 'no_such_module'"),
    ],
)
def test_broken_entry_point_is_named_and_other_commands_work(
    install: Install, capsys: pytest.CaptureFixture[str], module: str, why: str
) -> None:
    install(tools={"tool": "tools", "broken": module})

    assert main(["--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "commands that cannot be used: broken: " in text
    assert why in text
    assert f"entry point broken = {module} of tools" in text

    assert main(["broken", "x"]) == 2
    assert why in capsys.readouterr().err
    assert main(["tool", "hello"]) == 3


def test_command_name_that_is_taken_is_refused_with_both_entry_points(
    install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install(a={"config": "tools", "tool": "tools"}, b={"tool": "tools.alone"})

    assert main(["--help"]) == 0

    text = " ".join(capsys.readouterr().out.split())
    assert "config: the name config is taken by trio-kafka itself (entry point config" in text
    taken = "tool: the name tool is taken by entry point tool = tools of a"
    assert f"{taken} (entry point tool = tools.alone of b)" in text
    assert main(["tool", "hello"]) == 3
    assert main(["config", "hello"]) == 2
    assert (
        "unknown command 'hello'; `trio-kafka config --help` lists the commands"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize("command", ["absent", "late"])
def test_missing_module_is_named_with_its_install_command(
    install: Install, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    install(tools={"tool": "tools"})

    assert main(["tool", command]) == 2

    error = capsys.readouterr().err
    assert error.startswith(f"trio-kafka tool {command}: module no_such_module is not installed")
    assert 'pip install "tools[all]"' in error


@pytest.mark.parametrize(
    ("command", "why"),
    [("typo", "No module named 'tools.no_such'"), ("bad", "ZeroDivisionError: division by zero")],
)
def test_command_that_cannot_be_imported_is_named_with_its_entry_point(
    install: Install, capsys: pytest.CaptureFixture[str], command: str, why: str
) -> None:
    install(tools={"tool": "tools"})

    assert main(["tool", command]) == 2

    error = capsys.readouterr().err
    assert why in error
    assert "entry point tool = tools of tools" in error
    assert "pip install" not in error


def test_unknown_command_of_a_plugin_is_refused_with_a_suggestion(
    install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install(tools={"tool": "tools"})

    assert main(["tool", "helo"]) == 2

    assert "unknown command 'helo'; did you mean 'hello'?" in capsys.readouterr().err
    assert main(["tool"]) == 2


@pytest.mark.slow
def test_built_in_command_reads_no_entry_points() -> None:
    code = (
        "import sys; from trio_kafka.cli import main; main(['start', '--help']);"
        "print(*{'importlib.metadata', 'trio_kafka.cli.contributed'} & set(sys.modules))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == ""


@pytest.mark.slow
def test_help_imports_no_heavy_library() -> None:
    code = (
        "import sys; from trio_kafka.cli import main; main(['--help']);"
        "print(*{'pyspark', 'numpy', 'pyarrow', 'trio'} & set(sys.modules))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert " pipeline " in done.stdout
    assert done.stdout.splitlines()[-1] == ""
