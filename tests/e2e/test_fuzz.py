"""Frames of every API and version, whole and broken, against a broker process: nothing of them
stays, and an honest client is served all the while.

A failure names its burst, `SEED NUMBER`: `python -m tests.e2e.fuzz HOST:PORT SEED NUMBER` sends it
again.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.clients import new_topic
from tests.e2e.frames import HARMS, request_classes
from tests.e2e.fuzz import Fuzzer, make_burst
from tests.e2e.tree import Tree, counters_of, quiet_tree, read_tree, sockets_of, total
from tests.e2e.witness import resident_bytes, witness
from trio_kafka.testing.processes import BrokerProcess, broker_process

Size = Callable[[int, int], int]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

MIB = 1 << 20
NARROW = ("num.io.threads=1", "num.network.threads=1", "queued.max.requests=1")
SETTINGS = ("fetch.max.bytes=65536", "socket.request.max.bytes=1048576", "num.partitions=2")
# What holds or waits: each of these has left, or is as it was, when the clients have.
LASTING = {"broker", "plane", "nursery", "task", "channel", "limiter", "purgatory", "selector"}
FIRST_USE = 2000  # objects that come and go where codecs are compiled, which is once
REASONS = ("left", "bad-frame", "unknown-api", "undecodable", "forbidden")


def lasting(tree: Tree) -> list[tuple[str, str]]:
    """Kinds and names: no more of them after than before."""
    return sorted((kind, name) for kind, name, _ in tree if kind in LASTING)


@pytest.mark.parametrize(
    ("settings", "seed", "bursts"),
    [
        # Five frames a burst: a million.
        pytest.param((), 1, (1000, 201_000), id="with Kafka's defaults"),
        pytest.param(NARROW, 2, (1000, 20_000), id="with one of each"),
    ],
)
def test_broker_survives_fuzzed_requests_without_hangs_errors_or_leaks(
    tmp_path: Path, size: Size, settings: tuple[str, ...], seed: int, bursts: tuple[int, int]
) -> None:
    with broker_process(tmp_path, *SETTINGS, *settings) as broker:
        fuzz(broker, seed, size(*bursts), most=size(16, 64) * MIB)
        assert broker.stop() == 0


def fuzz(broker: BrokerProcess, seed: int, bursts: int, most: int) -> None:
    """AssertionError for whatever the broker owes and does not do; `most`: bytes that it may grow
    by.
    """
    topic = new_topic(broker)
    fuzzer, sockets = Fuzzer(broker.address), sockets_of(broker)

    # What is imported or kept with first requests is there from here on.
    fuzzer.run(seed, range(bursts // 10))
    before = read_tree(broker)
    grown = -resident_bytes(broker)
    with witness(broker, topic):
        fuzzer.run(seed, range(bursts // 10, bursts))
        grown += resident_bytes(broker)

    after = quiet_tree(broker)
    print(f"{fuzzer.frames} frames, {fuzzer.answers} whole answers: {grown / MIB:.1f} MiB more")
    print(fuzzer.errors)
    assert broker.process.poll() is None
    assert lasting(after) == lasting(before)
    assert sockets_of(broker) <= sockets + 1  # the one that asked may not be closed yet
    assert grown < most
    collected = total(after, "part", "collected") - total(before, "part", "collected")
    print(f"{collected} objects were garbage")
    assert collected < FIRST_USE + fuzzer.frames // 20
    check_counters(after)
    check_log(broker)


def check_counters(tree: Tree) -> None:
    """Every connection that has ended is counted once, with its reason."""
    counters = counters_of(tree)
    closed = {
        name.removeprefix("connections_closed.PLAINTEXT."): value
        for name, value in counters.items()
        if name.startswith("connections_closed.")
    }
    print(closed)
    assert closed.keys() >= set(REASONS)
    assert sum(closed.values()) == total(tree, "selector", "accepted") - 1
    assert closed.get("no-error-answer", 0) == 0


def check_log(broker: BrokerProcess) -> None:
    """A line for each connection that did not leave in order, and nothing that went wrong."""
    with broker.log.open(errors="replace") as lines:
        for line in lines:
            assert "Traceback" not in line
            assert " ERROR " not in line
            if "connection closed" in line:
                assert "peer=" in line
                assert "reason=" in line


def test_fuzzer_bursts_are_reproducible_and_cover_every_api_version(
    shared_broker: BrokerProcess,
) -> None:
    served: dict[int, tuple[int, int]] = Fuzzer(shared_broker.address)._served
    assert set(served) <= set(request_classes())

    def frames(number: int) -> list[Any]:
        return list(make_burst(7, number, served, [bytes(16)] * 12).sent)

    said = {(frame.key, frame.version) for number in range(4000) for frame in frames(number)}
    assert said == {
        (key, version)
        for key, (first, last) in served.items()
        for version in range(first if key else 3, last + 1)  # Produce 0 to 2: listed, not served
    }
    assert [str(frame.request) for frame in frames(5)] == [
        str(frame.request) for frame in frames(5)
    ]
    assert len(set(HARMS)) == 10
