"""Connection limits of single hosts (max.connections.per.ip.overrides).

Limits of addresses apply at once. Names are looked up, and again if that fails; each address of a
name has the limit of the name.
"""

from collections.abc import Callable, Mapping
from ipaddress import ip_address
from typing import Final, NoReturn

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.introspect.declared_waits import waits_for_work
from trio_kafka.introspect.log import get_logger
from trio_kafka.quotas.connection import address_of
from trio_kafka.world.protocols import Network

logger: Final = get_logger(__name__)

LOOK_UP_S: Final = 10.0  # timeout of a look-up
RETRY_S: Final = 60.0  # between two look-ups of a name that failed


@define(eq=False)
class AddressOverrides:
    """Limits by host. on_addresses: called with the limits by address after each look-up."""

    _network: Network
    _on_addresses: Callable[[Mapping[str, int]], None]
    _hosts: Mapping[str, int] = field(factory=dict, init=False)
    _names: dict[str, list[str]] = field(factory=dict, init=False)
    _changed: trio.Event = field(factory=trio.Event, init=False)

    def set(self, hosts: Mapping[str, int]) -> Mapping[str, int]:
        """Replace the limits by host; return those by address that are known already."""
        if hosts != self._hosts:
            self._hosts = hosts
            self._names = {name: self._names[name] for name in hosts if name in self._names}
            self._changed.set()
        return self._by_address()

    @waits_for_work("a change of the limits of connections")
    async def run(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> NoReturn:
        """Look names up until cancelled; started after the first attempt for each given name."""
        ready = False
        while True:
            self._changed = changed = trio.Event()
            missing = [name for name in self._hosts if not self._is_known(name)]
            async with trio.open_nursery() as nursery:
                for name in missing:
                    nursery.start_soon(self._look_up, name)
            failed = [name for name in missing if name not in self._names]
            if len(failed) < len(missing):
                self._on_addresses(self._by_address())
            if not ready:
                ready = True
                task_status.started()
            with trio.move_on_after(RETRY_S if failed else float("inf")):
                await changed.wait()

    async def _look_up(self, name: str) -> None:
        try:
            with trio.fail_after(LOOK_UP_S):
                addresses = await self._network.addresses(name)
        except (OSError, trio.TooSlowError) as error:
            logger.warning(
                "host of max.connections.per.ip.overrides not found",
                host=name,
                error=error,
                retry_s=RETRY_S,
            )
        else:
            self._names[name] = [address_of(address) for address in addresses]

    def _is_known(self, host: str) -> bool:
        return host in self._names or _is_address(host)

    def _by_address(self) -> Mapping[str, int]:
        limits = {}
        for host, count in self._hosts.items():
            addresses = [address_of(host)] if _is_address(host) else self._names.get(host, ())
            for address in addresses:
                limits[address] = count
        return limits


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
