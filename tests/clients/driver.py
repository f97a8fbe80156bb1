"""A client's program as a process: one step in, one result out."""

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Timer
from typing import Any

from attrs import frozen

from trio_kafka.errors import ErrorCode
from trio_kafka.testing.processes import ProcessError

ROOT = Path(__file__).parents[2]
STEP_TIMEOUT_S = 120.0


class ClientError(Exception):
    """Error of a client instead of a result: `code` is an error of Kafka's, or None."""

    def __init__(self, code: ErrorCode | None, message: str) -> None:
        super().__init__(f"{code.name if code else 'the client'}: {message}")
        self.code = code


@frozen(kw_only=True)
class Driver:
    """A program that waits for steps."""

    name: str
    process: subprocess.Popen[str]
    log: Path

    def ask(self, do: str, **step: Any) -> Any:
        """The result of a step. ClientError; ProcessError: the program ended or time was up."""
        self.begin(do, **step)
        return self.finish(do)

    def begin(self, do: str, **step: Any) -> None:
        """A step that lasts; `finish` has its result."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # the program has ended: there will be no result
            print(json.dumps({"do": do, **step}), file=self.process.stdin, flush=True)

    def finish(self, do: str) -> Any:
        """The result of the step that was begun; as `ask`."""
        assert self.process.stdout is not None
        # Reading a line cannot time out, but the end of the process ends it.
        timer = Timer(STEP_TIMEOUT_S, self.process.kill)
        timer.start()
        try:
            line = self.process.stdout.readline()
        finally:
            timer.cancel()
        if not line:
            self.process.wait()
            raise ProcessError(
                f"{self.name}: {do}: ended with status {self.process.returncode}; it printed:\n"
                f"{self.log.read_text(errors='replace')[-4000:]}"
            )
        return self._result(json.loads(line))

    def _result(self, answer: dict[str, Any]) -> Any:
        if "error" not in answer:
            return answer.get("result")
        has_code = answer["error"] > 0
        raise ClientError(ErrorCode(answer["error"]) if has_code else None, answer["message"])


@contextmanager
def running(name: str, command: Sequence[str | Path], log: Path) -> Iterator[Driver]:
    """A program until the block ends; what it says beside its results is in `log`."""
    with log.open("w") as errors:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    with process:
        try:
            yield Driver(name=name, process=process, log=log)
        finally:
            end(process)


def end(process: subprocess.Popen[str]) -> None:
    """No more steps: the program ends by itself, or is ended after a while."""
    assert process.stdin is not None
    with suppress(BrokenPipeError):  # it has ended already, with a step unread
        process.stdin.close()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
