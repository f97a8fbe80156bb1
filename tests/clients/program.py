"""Frame of the clients' programs in Python: steps in, results out, one line of JSON each.

A program is given steps on its standard input and answers each of them, in order, on its standard
output until its input ends. A step says what to `do`, at which broker (`bootstrap`), and the rest
by name; docs/reference/clients.md lists all steps. A result is {"result": ...}, or
{"error": the code of Kafka's error, or -1, "message": text}.
"""

import json
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

Step = dict[str, Any]
NEW_TOPICS_MS = 1000  # how often a member looks for topics that have come
# Longest wait of a read's Fetch: that of a partition without records delays the next one.
FETCH_WAIT_MS = 20


class StepError(Exception):
    """Error of the broker or the client instead of a result."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Span(NamedTuple):
    """The offsets of one partition that are to be read: `end` is the first that is not."""

    partition: int
    start: int
    end: int


def spans(step: Step) -> list[Span]:
    return [Span(*span) for span in step["spans"] if span[1] < span[2]]


def path(step: Step) -> Path:
    return Path(step["file"])


def stopped(step: Step) -> bool:
    """Whether a member is to leave its group: the file `until` is there."""
    return Path(step["until"]).exists()


def is_expression(step: Step) -> bool:
    """Whether a member reads all topics that match `topic`, also those that come later."""
    return bool(step["expression"])


def is_classic(step: Step) -> bool:
    """Whether a member speaks the classic protocol; else that of KIP-848."""
    return bool(step["protocol"] == "classic")


class Ownership:
    """Writes down which partitions a member has, and since when, beside its file of records.

    Each line is [event, ns of the machine's monotonic clock, partitions]. Events: assigned,
    revoked (written before the member gives them up), lost. `members.check_owners` reads it.
    """

    def __init__(self, step: Step) -> None:
        self._file = path(step).with_suffix(".owned").open("a")

    def note(self, event: str, partitions: Iterable[int]) -> None:
        row = [event, time.monotonic_ns(), sorted(partitions)]
        print(json.dumps(row), file=self._file, flush=True)


def serve(steps: Mapping[str, Callable[[Step], Any]]) -> None:
    """Answer steps until the input ends; `steps` has a function for each that the client knows."""
    for line in sys.stdin:
        step = json.loads(line)
        try:
            answer = {"result": steps[step.pop("do")](step)}
        except StepError as error:
            answer = {"error": error.code, "message": str(error)}
        except Exception as error:
            traceback.print_exc()
            code = getattr(error, "errno", None)  # of kafka-python's and aiokafka's errors
            answer = {
                "error": code if isinstance(code, int) else -1,
                "message": f"{type(error).__name__}: {error}",
            }
        print(json.dumps(answer), flush=True)
