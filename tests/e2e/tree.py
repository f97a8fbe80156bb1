"""The live tree of a broker process, and what of its clients is still in it."""

import os
import re
import socket
import time
from contextlib import suppress
from pathlib import Path

from tests.e2e.frames import Sent
from tests.e2e.fuzz import frames_of
from trio_kafka.protocol.messages.k10001_describe_tree import DescribeTreeRequest
from trio_kafka.testing.processes import BrokerProcess
from trio_kafka.testing.scripted_client import request_frame

Tree = list[tuple[str, str, dict[str, str]]]  # kind, name and figures

# Of a partition whose directory is slow just then, which the machine decides, not a client.
QUEUE = re.compile(r".*-\d+", re.DOTALL)

# What is due in a group or a transaction is no request that waits.
SHARD = ("__consumer_offsets-", "__transaction_state-")


def read_tree(broker: BrokerProcess) -> Tree:
    request = DescribeTreeRequest()
    sent = Sent(
        key=10001, version=0, correlation=0, data=request_frame(request, 0), request=request
    )
    with socket.create_connection(broker.address, 10) as connection:
        connection.sendall(sent.data)
        with connection.makefile("rb") as answers:
            rows = sent.read(next(frames_of(answers))).rows
    return [
        (row.kind, row.name, {figure.name: figure.value for figure in row.figures})
        for row in rows
        if row.kind != "channel" or not QUEUE.fullmatch(row.name)
    ]


def total(tree: Tree, kind: str, figure: str) -> int:
    """Of all nodes of a kind that have this figure."""
    return sum(int(figures[figure]) for k, _, figures in tree if k == kind and figure in figures)


def quiet_tree(broker: BrokerProcess) -> Tree:
    """The tree when nobody but who asks for it is connected, and nothing waits.

    AssertionError if that is not so within 10 s: a peer that left is seen a little later.
    """
    end = time.monotonic() + 10
    while True:
        tree = read_tree(broker)
        groups = [node for node in tree if "size" in node[2]]  # plugins have nurseries of no size
        remaining = {
            "connections": sum(kind == "connection" for kind, _, _ in tree) - 1,
            "parked requests": total(tree, "nursery", "parked"),
            # Tasks of requests that were parked are kept for the next ones.
            "handlers": max(
                0,
                total(groups, "nursery", "tasks")
                - total(groups, "nursery", "size")
                - total(groups, "nursery", "spare"),
            ),
            "in a purgatory": total(tree, "purgatory", "waiting"),
            "in a channel": total(tree, "channel", "depth"),
            "borrowed": total(tree, "limiter", "borrowed") - 1,
            "waiting for room": total(tree, "selector", "waiting_for_room"),
            "timers": total([node for node in tree if node[1] == "timers"], "job", "waiting")
            - total([node for node in tree if node[1].startswith(SHARD)], "part", "timers"),
        }
        if not any(remaining.values()):
            return tree
        assert time.monotonic() < end, remaining
        time.sleep(0.05)  # nothing tells another process


def sockets_of(broker: BrokerProcess) -> int:
    count = 0
    for place in Path(f"/proc/{broker.process.pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            count += os.readlink(place).startswith("socket:")
    return count


def counters_of(tree: Tree) -> dict[str, int]:
    (result,) = [figures for _, name, figures in tree if name == "counters"]
    return {name: int(value) for name, value in result.items()}
