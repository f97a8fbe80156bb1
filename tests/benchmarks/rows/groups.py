"""Groups: rebalances, commits, heartbeats, and what a coordinator loads at its start."""

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.benchmarks.bounds import at_most, times_other
from tests.benchmarks.connection import keep_asking
from tests.benchmarks.figures import Figure, Figures
from tests.benchmarks.leaf import switched
from tests.benchmarks.members import (
    COMMIT_VERSION,
    KINDS,
    ClassicMembers,
    ConsumerMembers,
    commit_request,
    crowd,
    group_name,
    wait_for_coordinators,
)
from tests.benchmarks.rows.registry import NotApplicableError, Target, row
from tests.benchmarks.rows.small import opened
from tests.benchmarks.tree import figures_of, rows_of
from trio_kafka.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from trio_kafka.testing.scripted_client import request_frame

COORDINATOR: Final = "group-coordinator"  # in the tree
CREATE_VERSION: Final = 7
_LOADED_S: Final = 60


@row(
    "group-rebalance-classic",
    times_other("rebalance", must=1.5, aim=1),
    times_other("server CPU", must=2, aim=1.2),
    kind="classic",
    members=100,
    partitions=1000,
)
@row(
    "group-rebalance-consumer",
    times_other("rebalance", must=1.5, aim=1),
    times_other("server CPU", must=2, aim=1.2),
    kind="consumer",
    members=100,
    partitions=1000,
)
def rebalance(target: Target, kind: str, members: int, partitions: int) -> Figures:
    """A group that is there rebalances as often as there is time for."""
    with target.topic(partitions) as topic, crowd(target.broker.address, members) as them:
        group = KINDS[kind](them, topic, partitions, members)
        wait_for_coordinators(them, [group_name(kind)], topic)
        _wait_for(group, topic)
        group.form()
        group.rebalance()
        count, end = 0, time.perf_counter() + target.seconds
        with target.meter() as meter:
            while time.perf_counter() < end or not count:
                group.rebalance()
                count += 1
    return {
        "rebalance": Figure(meter.wall_s / count * 1e3, "ms"),
        "server CPU": Figure(meter.server_cpu_s / count * 1e3, "ms each"),
        "client CPU": Figure(meter.client_cpu_s / count * 1e3, "ms each"),
    }


@row("offset-commit-50x1", times_other("server CPU", must=1.5, aim=1.2), connections=50)
def offset_commit(target: Target, connections: int) -> Figures:
    """One offset a request, of a group for each connection."""
    groups = [group_name("commit") for _ in range(connections)]
    with target.topic() as topic:
        with crowd(target.broker.address, 1) as them:
            wait_for_coordinators(them, groups, topic)
        requests = [
            request_frame(commit_request(group, topic, [0]), COMMIT_VERSION) for group in groups
        ]
        with opened(target, connections) as sockets, target.meter() as meter:
            sockets[0].sendall(requests[0])
            size = int.from_bytes(sockets[0].recv(4), "big")
            sockets[0].recv(size)
            pairs = zip(sockets, requests, strict=True)
            answered = keep_asking(pairs, size + 4, 1, target.seconds)
    return meter.requests(answered + 1)


@row("group-heartbeats-classic", at_most("a core", must=4, aim=2), kind="classic")
@row("group-heartbeats-consumer", at_most("a core", must=4, aim=2), kind="consumer")
def heartbeats(
    target: Target, kind: str, groups: int = 20, members: int = 100, every_s: float = 3.0
) -> Figures:
    """Members that say that they live, and have nothing else to say."""
    with (
        target.topic(members) as topic,
        crowd(target.broker.address, groups * members) as them,
    ):
        all_groups = [
            KINDS[kind](them, topic, members, members, number * members) for number in range(groups)
        ]
        for group in all_groups:
            _wait_for(group, topic)
            group.form()
        here = members - (kind == "consumer")
        senders = [(group, number) for group in all_groups for number in range(here)]
        share = len(senders) * 0.05 / every_s  # in 50 ms
        target.broker.server.wait_until_idle()
        with target.meter() as meter:
            began, sent = time.perf_counter(), 0
            while (passed_s := time.perf_counter() - began) < max(target.seconds, every_s):
                due = int(passed_s / 0.05 * share)
                some = [senders[place % len(senders)] for place in range(sent, due)]
                version = 0
                requests = {}
                for group, number in some:
                    requests[group.first + number], version = group.heartbeat(number)
                for answer in them.ask(requests, version).values():
                    if answer.error_code:
                        raise ValueError(f"heartbeat: error {answer.error_code}")
                sent = due
                time.sleep(max(0.0, began + passed_s + 0.05 - time.perf_counter()))
    return {
        "a core": Figure(meter.server_cpu_s / meter.wall_s * 100, "%"),
        "server CPU": Figure(meter.server_cpu_s / max(sent, 1) * 1e6, "µs each"),
    }


@row(
    "group-load-100000",
    at_most("load", must=15, aim=10),
    groups=100,
    partitions=1000,
    compiled=False,
)
@row(
    "group-load-100000-leaf",
    at_most("load", must=10, aim=7),
    groups=100,
    partitions=1000,
    compiled=True,
)
def load(target: Target, groups: int, partitions: int, compiled: bool) -> Figures:
    """Time to load a record at a coordinator's start, as it measures it itself."""
    if target.broker.start is None:
        raise NotApplicableError("it runs already")
    with switched(on=compiled):
        return _load(target, groups, partitions)


def _load(target: Target, groups: int, partitions: int) -> Figures:
    assert target.broker.start is not None
    names = [group_name("load") for _ in range(groups)]
    with TemporaryDirectory(dir=target.directory) as directory:
        with target.broker.start(Path(directory)) as broker, crowd(broker.address, 1) as them:
            if not rows_of(broker.address, COORDINATOR):
                raise NotApplicableError("it does not tell what it has loaded")
            topic = CreatableTopic("load", partitions, 1)
            them.ask({0: CreateTopicsRequest([topic])}, CREATE_VERSION)
            wait_for_coordinators(them, names, topic.name)
            for name in names:
                request = commit_request(name, topic.name, range(partitions))
                them.ask({0: request}, COMMIT_VERSION)
        with target.broker.start(Path(directory)) as broker:
            end = time.monotonic() + _LOADED_S
            while time.monotonic() < end:
                figures = figures_of(rows_of(broker.address, COORDINATOR)[0])
                records = int(figures["records_loaded"] or 0)
                if records >= groups * partitions:
                    took_s = float(figures["loaded_in_s"] or 0)
                    return {"load": Figure(took_s / records * 1e6, "µs each")}
                time.sleep(0.2)
    raise TimeoutError(f"{groups * partitions} offsets not loaded in {_LOADED_S} s")


def _wait_for(group: ClassicMembers | ConsumerMembers, topic: str) -> None:
    """A coordinator of this group that serves; its partition may be another than those before."""
    wait_for_coordinators(group.them, [group.group], topic)
