"""Connection limits of single hosts (max.connections.per.ip.overrides).

Limits of addresses apply at once. Names are looked up, a few at a time, and again if that fails;
each address of a name has the limit of the name.

Theory of operation. A round looks up every name without addresses: first the names that no round
has tried, then those that failed. The limit of a name applies as soon as the name is resolved. A
change of the limits ends the round after the look-ups that run, and the next one begins.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from ipaddress import ip_address
from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.introspect.declared_waits import waits_for_work
from trio_kafka.introspect.log import get_logger
from trio_kafka.quotas.connection import address_of
from trio_kafka.world.protocols import Network

logger: Final = get_logger(__name__)

AT_ONCE: Final = 4  # look-ups: each takes a thread
# Timeout of a look-up. Most resolvers give up before, so that few threads are left behind.
LOOK_UP_S: Final = 30.0
START_S: Final = 10.0  # the start waits no longer for look-ups
RETRY_S: Final = 60.0  # between two look-ups of a name that failed


@define(eq=False)
class AddressOverrides:
    """Limits by host. on_addresses: called with the limits by address when a name is resolved."""

    _network: Network
    _on_addresses: Callable[[Mapping[str, int]], None]
    _hosts: Mapping[str, int] = field(factory=dict, init=False)
    # By host: the address itself, or the addresses of a name that was resolved.
    _addresses: dict[str, Sequence[str]] = field(factory=dict, init=False)
    _failed: set[str] = field(factory=set, init=False)
    _changed: trio.Event = field(factory=trio.Event, init=False)

    def set(self, hosts: Mapping[str, int]) -> Mapping[str, int]:
        """Replace the limits by host; return those by address that are known already."""
        if hosts != self._hosts:
            old = self._addresses
            self._hosts = hosts
            self._addresses = {
                host: addresses
                for host in hosts
                if (addresses := old.get(host) or _own_address(host))
            }
            self._failed.intersection_update(hosts)
            self._changed.set()
        return self._by_address()

    @waits_for_work("a change of the limits of connections")
    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Look names up until cancelled.

        Started after the first attempt for each name that was set before, but at most after
        START_S: the broker does not wait for a name server that does not answer.
        """
        attempted = trio.Event()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._look_up_in_rounds, attempted, name="look-ups-of-overrides")
            with trio.move_on_after(START_S):
                await attempted.wait()
            task_status.started()

    @waits_for_work("a change of the limits of connections")
    async def _look_up_in_rounds(self, attempted: trio.Event) -> None:
        while True:
            self._changed = changed = trio.Event()
            missing = sorted(self._missing(), key=self._failed.__contains__)
            rest = iter(missing)
            async with trio.open_nursery() as nursery:
                for number in range(min(AT_ONCE, len(missing))):
                    nursery.start_soon(
                        self._look_up_each, rest, changed, name=f"look-up-of-overrides-{number}"
                    )
            attempted.set()
            with trio.move_on_after(RETRY_S if self._missing() else float("inf")):
                await changed.wait()

    async def _look_up_each(self, names: Iterator[str], changed: trio.Event) -> None:
        for name in names:
            if changed.is_set():
                return
            await self._look_up(name)

    async def _look_up(self, name: str) -> None:
        try:
            with trio.fail_after(LOOK_UP_S):
                addresses = await self._network.addresses(name)
        except (OSError, trio.TooSlowError) as error:
            self._failed.add(name)
            logger.warning(
                "host of max.connections.per.ip.overrides not found",
                host=name,
                error=error,
                retry_s=RETRY_S,
            )
        else:
            self._failed.discard(name)
            self._addresses[name] = [address_of(address) for address in addresses]
            self._on_addresses(self._by_address())

    def _missing(self) -> list[str]:
        return [host for host in self._hosts if host not in self._addresses]

    def _by_address(self) -> Mapping[str, int]:
        return {
            address: count
            for host, count in self._hosts.items()
            for address in self._addresses.get(host, ())
        }


def _own_address(host: str) -> Sequence[str]:
    """Return the address that a host is, as it is counted; nothing for a name."""
    # A broker may have thousands of names. An attempt to parse each takes ten times as long.
    if ":" not in host and not host.replace(".", "").isdecimal():
        return ()
    try:
        ip_address(host)
    except ValueError:
        return ()
    return (address_of(host),)
