import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients import driver as driver_module
from tests.clients.driver import ClientError, Driver, running
from trio_kafka.errors import ErrorCode
from trio_kafka.testing.processes import ProcessError

PROGRAM = """
import sys
from tests.clients.program import Step, StepError, serve

def refuse(step: Step) -> None:
    raise StepError(step["code"], "no")

def fail(step: Step) -> None:
    raise KeyError("a bug")

def end(step: Step) -> None:
    print("the last words", file=sys.stderr)
    sys.exit(7)

def hang(step: Step) -> None:
    sys.stdin.read()

serve({"echo": lambda step: step, "refuse": refuse, "fail": fail, "end": end, "hang": hang})
"""

pytestmark = pytest.mark.slow


@pytest.fixture
def driver(tmp_path: Path) -> Iterator[Driver]:
    with running("sample", [sys.executable, "-c", PROGRAM], tmp_path / "log") as started:
        yield started


def test_steps_are_answered_in_order(driver: Driver) -> None:
    assert driver.ask("echo", topic="t") == {"topic": "t"}
    assert driver.ask("echo", topic="\u00fc") == {"topic": "\u00fc"}


def test_a_step_in_the_background_returns_its_answer_on_finish(driver: Driver) -> None:
    driver.begin("echo", topic="t")

    assert driver.finish("echo") == {"topic": "t"}
    driver.process.kill()
    driver.process.wait()
    driver.begin("echo")
    with pytest.raises(ProcessError, match="ended with status -9"):
        driver.finish("echo")


def test_a_kafka_error_has_its_error_code_and_the_program_continues(driver: Driver) -> None:
    with pytest.raises(ClientError, match="TOPIC_ALREADY_EXISTS: no") as refused:
        driver.ask("refuse", code=36)

    assert refused.value.code is ErrorCode.TOPIC_ALREADY_EXISTS
    assert driver.ask("echo") == {}


@pytest.mark.parametrize(("do", "said"), [("fail", "KeyError: 'a bug'"), ("refuse", "no")])
def test_an_error_of_the_client_itself_has_no_error_code(
    driver: Driver, do: str, said: str
) -> None:
    with pytest.raises(ClientError, match=said) as refused:
        driver.ask(do, code=-1)

    assert refused.value.code is None


def test_the_end_of_a_program_is_reported_with_its_output(driver: Driver) -> None:
    with pytest.raises(ProcessError, match=r"status 7[\s\S]*the last words"):
        driver.ask("end")
    with pytest.raises(ProcessError, match="status 7"):
        driver.ask("echo")


def test_a_hanging_program_is_killed_after_the_timeout(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver_module, "STEP_TIMEOUT_S", 0.2)

    with pytest.raises(ProcessError, match="status -9"):
        driver.ask("hang")
