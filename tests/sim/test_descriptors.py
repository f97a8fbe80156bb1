"""A broker that loses its power again and again while its segments give up their files."""

from collections.abc import Callable

import pytest

from tests.sim import clients
from tests.sim.ledger import Ledger
from tests.sim.lives import SETTINGS, live_and_die
from trio_kafka.errors import ErrorCode
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.log.segment import Segment
from trio_kafka.testing.simulate import run_seed
from trio_kafka.world.descriptors import SMALLEST
from trio_kafka.world.simulated import SimulatedWorld, Universe

Size = Callable[[int, int], int]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
ROOM = 12  # files of logs, metadata and checkpoints together; the broker has more partitions


@pytest.fixture(autouse=True)
def _scarce(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each machine has a limit, and little room is left."""
    machine = Universe.machine

    def scarce(universe: Universe, name: str) -> SimulatedWorld:
        world = machine(universe, name)
        world.descriptors.limit = SMALLEST
        world.descriptors.others = world.descriptors.shared - ROOM
        return world

    monkeypatch.setattr(Universe, "machine", scarce)
    passing = clients.PASSING | {ErrorCode.REPLICA_NOT_AVAILABLE, ErrorCode.KAFKA_STORAGE_ERROR}
    monkeypatch.setattr(clients, "PASSING", passing)


def run_lives(seed: int) -> Ledger:
    return run_seed(live_and_die, seed, settings=SETTINGS)


def test_acknowledged_records_survive_power_losses_while_segment_files_are_closed(
    size: Size, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds, closed, again = size(1, 50), 0, 0
    failed: list[LogDirectory] = []
    give_up, open_again = Segment.give_up, Segment._open_again

    def count_closed(segment: Segment) -> bool:
        nonlocal closed
        done = give_up(segment)
        closed += done
        return done

    def count_again(segment: Segment) -> object:
        nonlocal again
        again += 1
        return open_again(segment)

    monkeypatch.setattr(Segment, "give_up", count_closed)
    monkeypatch.setattr(Segment, "_open_again", count_again)
    monkeypatch.setattr(LogDirectory, "fail", lambda directory, _: failed.append(directory))

    ledgers = [run_lives(seed) for seed in range(seeds)]

    print(f"closed {closed}, opened again {again}, {[ledger.acknowledged for ledger in ledgers]}")
    assert sum(ledger.acknowledged for ledger in ledgers) > 20 * seeds
    assert not failed
    assert closed > 20 * seeds
    assert again > 10 * seeds
