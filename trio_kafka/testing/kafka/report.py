"""State of a broker under test, as text for the report of a failed test.

The tables are those of `trio-kafka tree` and `trio-kafka requests`. Figures that are zero or empty
are left out.
"""

import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import trio

from trio_kafka.broker import RunningBroker
from trio_kafka.cli import requests, tree
from trio_kafka.protocol.messages.k10001_describe_tree import (
    DescribeTreeRequest,
    DescribeTreeResponse,
    TreeRow,
)
from trio_kafka.protocol.messages.k10010_describe_requests import DescribeRequestsRequest
from trio_kafka.testing.kafka.ask import ask
from trio_kafka.testing.kafka.life import NotRunningError
from trio_kafka.testing.kafka.threaded import Kafka
from trio_kafka.testing.loop_thread import LoopEndedError
from trio_kafka.testing.running import KIT_CLIENT

Section = tuple[str, str]
"""Title and text."""
_LIMIT_S: Final = 5.0
_LATEST: Final = 30
_QUEUES: Final = frozenset({"channel", "limiter", "purgatory"})
_WORKING: Final = frozenset({"nursery", "task"})
_NOTHING: Final = frozenset({"", "-", "0", "0.0", "false"})
_ABOUT_THE_START: Final = frozenset({"start", "stop"})


async def describe(broker: RunningBroker) -> list[Section]:
    """Return the requests, queues and tasks of a broker. Called in its loop."""
    sections: list[Section] = []
    with trio.CancelScope(shield=True), trio.move_on_after(_LIMIT_S):
        sections.append(("requests in flight", await _requests(broker, "in-flight")))
        sections.append(("latest requests", await _requests(broker, "latest")))
        rows = (await ask(broker, DescribeTreeRequest())).rows
        sections.append(("queues", "\n".join(_queues(rows)) or "nothing waited"))
        sections.append(("tasks", "\n".join(_tasks(rows))))
    return sections


def describe_threaded(kafka: Kafka) -> list[Section]:
    """Return the state of a broker in a thread, whatever state its loop is in."""
    if kafka.is_paused:
        return [("state", "the broker is paused: kafka.resume() was not called")]
    sections: list[Section] = []

    def describe_it() -> None:
        try:
            sections.extend(kafka.thread.call(lambda: describe(kafka.in_loop.broker)))
        except (LoopEndedError, NotRunningError) as error:
            sections.append(("state", str(error)))
        except Exception as error:  # noqa: BLE001 - the report of a test must not fail
            sections.append(("state", f"not described: {error!r}"))

    asking = threading.Thread(target=describe_it, daemon=True)
    asking.start()
    asking.join(_LIMIT_S)
    if asking.is_alive():
        text = f"its loop does not answer within {_LIMIT_S:g} s; it is in\n{kafka.thread.stack()}"
        return [("state", text)]
    return sections


async def _requests(broker: RunningBroker, which: str) -> str:
    asked = DescribeRequestsRequest(requests.KINDS[which], [], None, _LATEST, [])
    answer = await ask(broker, asked)
    answer.requests = [
        one
        for one in answer.requests
        if (one.client_id, one.api_name[:8]) != (KIT_CLIENT, "Describe")
    ]
    return "\n".join(requests.as_text(answer, which)) if answer.requests else "none"


def _queues(rows: Iterable[TreeRow]) -> Iterator[str]:
    """Yield the channels, limiters and purgatories that hold something, or ever did."""
    path: list[str] = []
    for row in rows:
        path[row.depth :] = [row.name]
        figures = {one.name: one.value for one in row.figures if one.value not in _NOTHING}
        used = figures.keys() - {"bound", "tokens", "idle", "budget"}
        if row.kind in _QUEUES and used:
            shown = "  ".join(f"{name}={value}" for name, value in figures.items())
            yield f"{'/'.join(path[1:])}  {shown}"


def _tasks(rows: Sequence[TreeRow]) -> Iterator[str]:
    """Yield the lines of the tree, without leaves that have done nothing."""
    shown: list[TreeRow] = []
    for row in reversed(rows):
        figures = [one for one in row.figures if one.value not in _NOTHING]
        has_children = bool(shown) and shown[-1].depth > row.depth
        if row.name in _ABOUT_THE_START or not (figures or has_children or row.kind in _WORKING):
            continue
        shown.append(TreeRow(depth=row.depth, kind=row.kind, name=row.name, figures=figures))
    return tree.as_text(DescribeTreeResponse(rows=shown[::-1]))
