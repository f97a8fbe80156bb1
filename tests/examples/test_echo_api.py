"""The example of APIs with a life: its own tests, its README line by line, its wheel."""

import zipfile
from pathlib import Path

import pytest

from tests.examples.packages import Example, run_at, serving
from trio_kafka.testing.processes import ask_api_versions, broker_process

pytestmark = pytest.mark.slow
ECHO = Example("echo_api")


def test_the_tests_of_the_echo_api_example_pass() -> None:
    assert "passed" in ECHO.run_tests()


def test_the_commands_of_the_echo_api_readme_work(tmp_path: Path) -> None:
    [block] = ECHO.blocks("sh")
    install, start, *commands = block.splitlines()
    assert install == "pip install examples/plugins/echo_api"
    setting = start.partition(" -c ")[2].replace('"', "")

    with serving(ECHO, tmp_path, setting) as broker:
        printed = [run_at(broker, line) for line in commands]
        served = ask_api_versions(broker.address)

    assert printed[:2] == ["0: >hello\n", "0: >hello (echo-client)\n"]
    assert "api:Echo(10110)" in printed[2]
    assert (served[10110], served[10111]) == ((0, 1), (0, 0))
    readme = (ECHO.path / "README.md").read_text()
    assert all(f"`{line.strip()}`" in readme for line in printed[:2])


def test_the_client_reports_a_broker_without_the_plugin(tmp_path: Path) -> None:
    with (
        broker_process(tmp_path) as plain,
        pytest.raises(AssertionError, match="does not serve this"),
    ):
        run_at(plain, "python examples/plugins/echo_api/client.py 127.0.0.1:9092 echo hello")


def test_the_wheel_contains_only_the_module_and_its_entry_point(tmp_path: Path) -> None:
    with zipfile.ZipFile(ECHO.build_wheel(tmp_path)) as wheel:
        modules = [name for name in wheel.namelist() if ".dist-info/" not in name]
        points = wheel.read("echo_api-1.0.dist-info/entry_points.txt").decode()

    assert modules == ["echo_api.py"]
    assert points.strip() == ECHO.entry_points.strip()
