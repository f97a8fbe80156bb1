"""State of a broker under test, as text for the report of a failed test.

At most 60 lines: the topics, the groups, open transactions, what the test's own clients asked, the
broker's warnings; without titles of what there is none of.
With `tree` also its queues and tasks; figures that are zero or empty are left out there.
"""

import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Final

import trio

from trio_kafka.cli.output import LEFT, RIGHT, columns
from trio_kafka.cli.requests import as_text as requests_text
from trio_kafka.cli.tree import as_text as tree_text
from trio_kafka.controls.ask import ask
from trio_kafka.controls.running import KIT_CLIENT
from trio_kafka.controls.values import Group, Topic, Transaction
from trio_kafka.errors import KafkaError
from trio_kafka.protocol.messages.k10001_describe_tree import (
    DescribeTreeRequest,
    DescribeTreeResponse,
    TreeRow,
)
from trio_kafka.protocol.messages.k10010_describe_requests import IN_FLIGHT, DescribeRequestsRequest
from trio_kafka.testing.kafka.in_loop import KafkaInLoop
from trio_kafka.testing.kafka.life import NotRunningError
from trio_kafka.testing.kafka.threaded import Kafka
from trio_kafka.testing.loop_thread import LoopEndedError

Section = tuple[str, str]
"""Title and text."""
_TIMEOUT_S: Final = 5.0
_MOST_TOPICS: Final = 12
_MOST_GROUPS: Final = 8
_MOST_OPEN: Final = 3  # transactions
_MOST_IN_FLIGHT: Final = 5
_WIDTH: Final = 120  # characters of a line
_HEAD: Final = ("when", "request", "client", "software", "took", "error")
_QUEUES: Final = frozenset({"channel", "limiter", "purgatory"})
_WORKING: Final = frozenset({"nursery", "task"})
_NOTHING: Final = frozenset({"", "-", "0", "0.0", "false"})
_ABOUT_THE_START: Final = frozenset({"start", "stop"})


async def describe(kafka: KafkaInLoop, *, tree: bool = False) -> list[Section]:
    """Return the state of a running broker. Called in its loop. tree: also its queues and tasks."""
    parts: list[tuple[str, Callable[[], Awaitable[str]]]] = [
        ("topics", lambda: _topics(kafka)),
        ("groups", lambda: _groups(kafka)),
        ("transactions", lambda: _transactions(kafka)),
        ("requests in flight", lambda: _in_flight(kafka)),
    ]
    sections: list[Section] = []
    with trio.CancelScope(shield=True), trio.move_on_after(_TIMEOUT_S):
        for title, describe_part in parts:
            try:
                sections.append((title, await describe_part()))
            except KafkaError as error:
                sections.append((title, f"not described: {error}"))
        sections.append(("latest requests", _latest(kafka)))
        sections.append(("warnings", "\n".join(map(_cut, kafka.warnings))))
        if tree:
            rows = (await ask(kafka.broker, DescribeTreeRequest())).rows
            sections.append(("queues", "\n".join(_queues(rows)) or "nothing waited"))
            sections.append(("tasks", "\n".join(_tasks(rows))))
    return [(title, text) for title, text in sections if text]


def describe_threaded(kafka: Kafka, *, tree: bool = False) -> list[Section]:
    """Return the state of a broker in a thread, whatever state its loop is in."""
    if kafka.is_paused:
        return [("state", "the broker is paused: kafka.resume() was not called")]
    sections: list[Section] = []

    def describe_it() -> None:
        try:
            sections.extend(kafka.thread.call(lambda: describe(kafka.in_loop, tree=tree)))
        except (LoopEndedError, NotRunningError) as error:
            sections.append(("state", str(error)))
        except Exception as error:  # noqa: BLE001 - the report of a test must not fail
            sections.append(("state", f"not described: {error!r}"))

    asking = threading.Thread(target=describe_it, daemon=True)
    asking.start()
    asking.join(_TIMEOUT_S)
    if asking.is_alive():
        stack = kafka.thread.stack()
        return [("state", f"its loop does not answer within {_TIMEOUT_S:g} s; it is in\n{stack}")]
    return sections


# --- sections


async def _topics(kafka: KafkaInLoop) -> str:
    names = await kafka.topics()
    lines = [_topic_line(await kafka.topic(name)) for name in names[:_MOST_TOPICS]]
    return _limited(lines, len(names)) or "none"


def _topic_line(topic: Topic) -> str:
    offsets = (f"{number}: {first} to {end}" for number, (first, end) in topic.offsets.items())
    return _cut(f"{topic.name}  {', '.join(offsets)}")


async def _groups(kafka: KafkaInLoop) -> str:
    groups = await kafka.groups()
    return _limited([_group_line(group) for group in groups[:_MOST_GROUPS]], len(groups))


def _group_line(group: Group) -> str:
    members = ", ".join(member.client_id for member in group.members) or "none"
    lag = ", ".join(f"{topic}-{number}: {lag}" for (topic, number), lag in group.lag.items())
    behind = f"lag {group.total_lag} ({lag})" if lag else "no committed offsets"
    return _cut(f"{group.group_id}  {group.state}, members: {members}; {behind}")


async def _transactions(kafka: KafkaInLoop) -> str:
    """Describe the open transactions: they keep records from readers."""
    still_open = [
        transaction for transaction in await kafka.transactions() if transaction.age_s is not None
    ]
    lines = [_transaction_line(transaction) for transaction in still_open[:_MOST_OPEN]]
    return _limited(lines, len(still_open))


def _transaction_line(transaction: Transaction) -> str:
    partitions = ", ".join(f"{topic}-{number}" for topic, number in transaction.partitions)
    return _cut(
        f"{transaction.transactional_id}  {transaction.state} for {transaction.age_s:.1f} s"
        f" of {transaction.timeout_s:g} s: {partitions}"
    )


async def _in_flight(kafka: KafkaInLoop) -> str:
    answer = await ask(kafka.broker, DescribeRequestsRequest(IN_FLIGHT))
    own = [life for life in answer.requests if life.client_id != KIT_CLIENT]
    answer.requests, answer.truncated = own[:_MOST_IN_FLIGHT], False
    return _limited([*requests_text(answer, "in-flight")] if own else [], len(own), head=1)


def _latest(kafka: KafkaInLoop) -> str:
    rows = list(kafka.latest_requests.rows())
    sides = [RIGHT, LEFT, LEFT, LEFT, RIGHT, LEFT]
    return "\n".join(map(_cut, columns(_HEAD, rows, sides))) if rows else ""


def _limited(lines: Sequence[str], count: int, head: int = 0) -> str:
    """Return lines as a text; count: how many there would be, besides `head` ones."""
    omitted = count + head - len(lines)
    return "\n".join([*lines, f"and {omitted} more"] if lines and omitted > 0 else lines)


def _cut(line: str) -> str:
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 3]}..."


# --- the tree


def _queues(rows: Iterable[TreeRow]) -> Iterator[str]:
    """Yield the channels, limiters and purgatories that hold something, or ever did."""
    path: list[str] = []
    for row in rows:
        path[row.depth :] = [row.name]
        figures = {
            figure.name: figure.value for figure in row.figures if figure.value not in _NOTHING
        }
        used = figures.keys() - {"bound", "tokens", "idle", "budget"}
        if row.kind in _QUEUES and used:
            shown = "  ".join(f"{name}={value}" for name, value in figures.items())
            yield f"{'/'.join(path[1:])}  {shown}"


def _tasks(rows: Sequence[TreeRow]) -> Iterator[str]:
    """Yield the lines of the tree, without leaves that have done nothing."""
    shown: list[TreeRow] = []
    for row in reversed(rows):
        figures = [figure for figure in row.figures if figure.value not in _NOTHING]
        has_children = bool(shown) and shown[-1].depth > row.depth
        if row.name in _ABOUT_THE_START or not (figures or has_children or row.kind in _WORKING):
            continue
        shown.append(TreeRow(depth=row.depth, kind=row.kind, name=row.name, figures=figures))
    return tree_text(DescribeTreeResponse(rows=shown[::-1]))
