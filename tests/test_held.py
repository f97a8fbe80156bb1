"""Ledgers and their observer."""

from collections.abc import Mapping

import pytest
from attrs import define, field

from trio_kafka import held
from trio_kafka.world.descriptors import Descriptors

pytestmark = pytest.mark.leaves("it sets counts by hand")


@define(eq=False)
class Observer:
    """An observer that keeps what it is told."""

    ledgers: list[held.Ledger] = field(factory=list)
    losses: list[tuple[str, Mapping[str, int]]] = field(factory=list)

    def opened(self, ledger: held.Ledger) -> None:
        self.ledgers.append(ledger)

    def leaked(self, owner: str, counts: Mapping[str, int]) -> None:
        self.losses.append((owner, counts))


def test_observer_gets_the_ledgers_made_in_its_block() -> None:
    observer = Observer()

    with held.observed(observer):
        inside = Descriptors()
        with held.observed(None):
            Descriptors()
        after = Descriptors()
    Descriptors()

    assert observer.ledgers == [inside, after]


def test_only_resources_opened_by_the_owner_and_not_released_are_reported() -> None:
    observer, descriptors = Observer(), Descriptors()
    descriptors.files = 3

    with held.observed(observer):
        with held.given_back("broker-1", descriptors):
            descriptors.files += 2
            descriptors.leases += 1
            descriptors.files -= 1
        with held.given_back("broker-2", descriptors):
            descriptors.files += 1
            descriptors.files -= 1

    assert observer.losses == [("broker-1", {"files": 1, "leases": 1})]


def test_crashed_machine_holds_no_resources() -> None:
    descriptors = Descriptors()
    descriptors.sockets = 2
    assert descriptors.still_held()["sockets"] == 2

    descriptors.ended = True

    assert not descriptors.still_held()
    assert not descriptors.owned()


def test_leases_of_a_simulated_machine_are_still_held_and_files_are_not() -> None:
    descriptors = Descriptors(simulated=True)
    descriptors.files, descriptors.leases = 2, 1

    assert descriptors.still_held() == {"sockets": 0, "leases": 1}
