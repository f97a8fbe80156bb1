"""Limits by host: addresses hold at once, names when they were looked up."""

from collections.abc import Mapping
from typing import Any

import trio
from trio.testing import MockClock

from trio_kafka.network.admission.overrides import (
    AT_ONCE,
    LOOK_UP_S,
    RETRY_S,
    START_S,
    AddressOverrides,
)


class Names:
    """A network that knows some names; a number is how long a look-up takes."""

    def __init__(self, **names: Any) -> None:
        self.names = names
        self.lookups: list[str] = []
        self.running = 0
        self.most_running = 0

    async def addresses(self, host: str) -> list[str]:
        self.lookups.append(host)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            return await self._answer(host)
        finally:
            self.running -= 1

    async def _answer(self, host: str) -> list[str]:
        await trio.lowlevel.checkpoint()
        answer = self.names.get(host)
        if isinstance(answer, float):
            await trio.sleep(answer)
        if not isinstance(answer, list):
            raise OSError(f"nobody is {host}")
        return answer


def overrides(network: Any) -> tuple[AddressOverrides, list[Mapping[str, int]]]:
    changes: list[Mapping[str, int]] = []
    return AddressOverrides(network, changes.append), changes


async def test_overrides_of_addresses_apply_at_once_and_of_host_names_after_their_lookup(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    network = Names(many=["10.0.0.2", "::ffff:10.0.0.3", "fe80::2"])
    address_overrides, changes = overrides(network)
    assert address_overrides.set({"10.0.0.1": 5, "::ffff:10.0.0.9": 7, "many": 9}) == {
        "10.0.0.1": 5,
        "10.0.0.9": 7,
    }

    await nursery.start(address_overrides.run)

    assert changes == [{"10.0.0.1": 5, "10.0.0.9": 7, "10.0.0.2": 9, "10.0.0.3": 9, "fe80::2": 9}]
    assert network.lookups == ["many"]
    nursery.cancel_scope.cancel()


async def test_the_last_override_applies_when_two_hosts_have_the_same_address(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    address_overrides, changes = overrides(Names(one=["10.0.0.1"]))
    address_overrides.set({"10.0.0.1": 5, "one": 6})
    await nursery.start(address_overrides.run)

    assert changes == [{"10.0.0.1": 6}]
    nursery.cancel_scope.cancel()


async def test_an_unresolved_host_name_does_not_delay_other_overrides_and_is_retried(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    network = Names(known=["10.0.0.1"], slow=1e6, slower=1e6)
    address_overrides, changes = overrides(network)
    address_overrides.set({"unknown": 1, "slow": 2, "slower": 2, "known": 3})
    began = trio.current_time()
    await nursery.start(address_overrides.run)
    assert trio.current_time() - began == START_S
    assert changes == [{"10.0.0.1": 3}]

    network.names["unknown"] = ["10.0.0.2"]
    await trio.sleep(RETRY_S + LOOK_UP_S + 1)

    assert changes[-1] == {"10.0.0.1": 3, "10.0.0.2": 1}
    assert network.lookups.count("known") == 1
    nursery.cancel_scope.cancel()


async def test_a_silent_name_server_is_asked_for_few_host_names_at_a_time(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    silent = {f"h{number}": 1e6 for number in range(3 * AT_ONCE)}
    network = Names(**silent, last=["10.0.0.1"])
    address_overrides, changes = overrides(network)
    address_overrides.set(dict.fromkeys(network.names, 1))
    await nursery.start(address_overrides.run)
    assert (network.lookups, changes) == ([f"h{number}" for number in range(AT_ONCE)], [])

    await trio.sleep(3 * LOOK_UP_S)

    assert network.lookups == [*silent, "last"]  # each has its time from the start of its look-up
    assert network.most_running == AT_ONCE
    assert changes == [{"10.0.0.1": 1}]
    nursery.cancel_scope.cancel()


async def test_a_resolved_host_name_applies_while_the_look_ups_of_others_still_run(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    network = Names(first=["10.0.0.1"], second=["10.0.0.2"], silent=1e6, other=1e6)
    address_overrides, changes = overrides(network)
    address_overrides.set({"first": 1, "silent": 2, "second": 3, "other": 4})

    await nursery.start(address_overrides.run)

    assert network.running == 2
    assert changes[-1] == {"10.0.0.1": 1, "10.0.0.2": 3}
    nursery.cancel_scope.cancel()


async def test_a_new_host_name_is_looked_up_before_those_that_failed(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    network = Names(new=["10.0.0.1"], **{f"h{number}": 1e6 for number in range(5 * AT_ONCE)})
    address_overrides, changes = overrides(network)
    silent = dict.fromkeys(sorted(network.names.keys() - {"new"}), 1)
    address_overrides.set(silent)
    await nursery.start(address_overrides.run)
    await trio.sleep(5 * LOOK_UP_S)  # each has failed

    address_overrides.set({**silent, "new": 2})
    await trio.sleep(1)

    assert changes == [{"10.0.0.1": 2}]
    nursery.cancel_scope.cancel()


async def test_only_new_host_names_are_looked_up_when_overrides_change(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    network = Names(one=["10.0.0.1"], two=["10.0.0.2"])
    address_overrides, changes = overrides(network)
    await nursery.start(address_overrides.run)
    assert changes == []

    address_overrides.set({"one": 1})
    await trio.sleep(1)
    assert address_overrides.set({"one": 2, "two": 3}) == {"10.0.0.1": 2}
    await trio.sleep(1)
    assert address_overrides.set({"one": 2, "two": 3}) == {"10.0.0.1": 2, "10.0.0.2": 3}
    await trio.sleep(1000)
    assert changes == [{"10.0.0.1": 1}, {"10.0.0.1": 2, "10.0.0.2": 3}]
    assert network.lookups == ["one", "two"]

    assert address_overrides.set({}) == {}
    nursery.cancel_scope.cancel()
