"""Carries out a schedule of faults."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.testing.simulate.lives import CLIENTS, NAME, SimulatedLives
from trio_kafka.testing.simulate.schedule import Schedule
from trio_kafka.world.simulated import Universe
from trio_kafka.world.simulated.faults import CallFault

_DISK_CALLS: Final = ("append", "sync", "sync_directory", "create")
# At worst so long after the last fault has ended until the broker serves.
_PATIENCE_S: Final = 120.0


@define(eq=False)
class Chaos:
    """Faults of a broker, its link to the clients, its disk and its clock."""

    universe: Universe
    lives: SimulatedLives
    _nursery: trio.Nursery | None = field(default=None, init=False)

    async def run(self, schedule: Schedule) -> None:
        """Carry out the faults, and return when the last one has ended."""
        begin = trio.current_time()
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            for at_s, kind, *arguments in schedule:
                await trio.sleep_until(begin + at_s)
                self.universe.note("chaos", kind, repr(arguments))
                strike: Callable[..., Awaitable[None]] = getattr(self, kind)
                nursery.start_soon(partial(strike, *arguments), name=f"chaos {kind}")

    async def heal(self) -> None:
        """End all faults and start the broker if it is down."""
        universe = self.universe
        universe.faults.clear()
        universe.heal(CLIENTS, NAME)
        self._set_capacity(None)
        with trio.fail_after(_PATIENCE_S):
            await self.lives.start()
        self.lives.supervised = False

    # Crashes

    async def lose_power(self, kept: float, down_s: float) -> None:
        await self.lives.kill(power=True, kept=kept)
        await self._start_again(down_s)

    async def lose_power_at(
        self, call: str, target: str, after: int, kept: float, down_s: float
    ) -> None:
        rule = CallFault(
            machine=NAME, call=call, target=target, after=after, times=1, power_loss=kept
        )
        await self.universe.faults.add(rule).wait()
        await self._start_again(down_s)

    async def kill(self, down_s: float) -> None:
        await self.lives.kill()
        await self._start_again(down_s)

    async def stop(self, down_s: float) -> None:
        await self.lives.stop()
        await self._start_again(down_s)

    async def _start_again(self, down_s: float) -> None:
        await trio.sleep(down_s)
        await self.lives.wait_down()
        self.lives.start_soon()

    # Links

    async def cut(self, lasts_s: float) -> None:
        self.universe.cut(CLIENTS, NAME)
        await self._heal_link(lasts_s)

    async def cut_requests(self, lasts_s: float) -> None:
        self.universe.cut(CLIENTS, NAME, one_way=True)
        await self._heal_link(lasts_s)

    async def cut_answers(self, lasts_s: float) -> None:
        self.universe.cut(NAME, CLIENTS, one_way=True)
        await self._heal_link(lasts_s)

    async def _heal_link(self, lasts_s: float) -> None:
        await trio.sleep(lasts_s)
        self.universe.heal(CLIENTS, NAME)

    async def half_open(self) -> None:
        await trio.lowlevel.checkpoint()
        self.universe.half_open(CLIENTS, NAME)

    async def reset(self, times: int, lasts_s: float) -> None:
        rule = CallFault(
            machine=CLIENTS, call="send", error="ECONNRESET", times=times, probability=0.3
        )
        await self._during(lasts_s, rule)

    # Disks

    async def slow_disk(self, delay_s: float, lasts_s: float) -> None:
        rules = [
            CallFault(machine=NAME, call=call, delay_s=(0.0, delay_s), probability=0.3)
            for call in _DISK_CALLS
        ]
        await self._during(lasts_s, *(rules if delay_s > 0 else ()))

    async def fill_disk(self, left_bytes: int, lasts_s: float) -> None:
        self.lives.supervised = True
        self._set_capacity(self.lives.world.disk.size + left_bytes)
        await trio.sleep(lasts_s)
        self._set_capacity(None)

    async def fail_disk(self, call: str, times: int) -> None:
        await trio.lowlevel.checkpoint()
        self.lives.supervised = True
        self.universe.faults.add(CallFault(machine=NAME, call=call, error="EIO", times=times))

    def _set_capacity(self, size: int | None) -> None:
        self.lives.world.capacity = size

    async def _during(self, lasts_s: float, *rules: CallFault) -> None:
        active = [self.universe.faults.add(rule) for rule in rules]
        try:
            await trio.sleep(lasts_s)
        finally:
            for rule in active:
                rule.remove()

    # Clocks

    async def drift_clock(self, rate: float) -> None:
        await trio.lowlevel.checkpoint()
        self.lives.world.clock.drift(rate)

    async def step_clock(self, seconds: float) -> None:
        await trio.lowlevel.checkpoint()
        self.lives.world.clock.step(seconds)
