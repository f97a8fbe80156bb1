"""Faults of calls to the world, by rule: a disk that fails or slows down, a connection that breaks.

The first rule that matches a call applies; others that match count it as seen. All randomness comes
from the seed of the run.
"""

import errno
import os
from collections.abc import Callable
from fnmatch import fnmatchcase
from random import Random

import trio
from attrs import field

from trio_kafka.attributes import define, frozen


@frozen
class PowerLoss:
    """The machine loses its power before the call. kept: see `disk`."""

    kept: float


Verdict = float | OSError | PowerLoss | None


@frozen(kw_only=True)
class CallFault:
    """Condition on calls, and the fault that they get.

    machine, call, target: patterns as for file names. call: `append`, `sync`, `create`, `send`,
        `receive`, ...; target: a path or an address.
    error: name of an errno, such as EIO, which the call raises; ECONNRESET also resets the
        connection. delay_s: least and greatest time that the call takes. power_loss: the machine
        loses its power; probability that a write that was not synced survives. One of the three.
    after: matching calls that pass first. every: then each nth one gets the fault. times: number
        of faults; None: no limit. probability: of each.
    """

    machine: str = "*"
    call: str = "*"
    target: str = "*"
    error: str | None = None
    delay_s: tuple[float, float] | None = None
    power_loss: float | None = None
    after: int = 0
    every: int = 1
    times: int | None = None
    probability: float = 1.0

    def __attrs_post_init__(self) -> None:
        verdicts = [self.error, self.delay_s, self.power_loss]
        if sum(verdict is not None for verdict in verdicts) != 1:
            raise ValueError("want one of error, delay_s and power_loss")
        if self.error is not None and not hasattr(errno, self.error):
            raise ValueError(f"error={self.error!r}: want the name of an errno, such as EIO")
        if self.delay_s is not None and not 0 <= self.delay_s[0] <= self.delay_s[1]:
            raise ValueError(f"delay_s={self.delay_s}: want a least and a greatest time")
        if self.every < 1 or self.after < 0 or not 0 <= self.probability <= 1:
            raise ValueError("want every >= 1, after >= 0, and a probability of 0 to 1")

    def matches(self, machine: str, call: str, target: str) -> bool:
        return (
            fnmatchcase(call, self.call)
            and fnmatchcase(machine, self.machine)
            and fnmatchcase(target, self.target)
        )

    def verdict(self, chance: Random, target: str) -> Verdict:
        if self.delay_s is not None:
            return chance.uniform(*self.delay_s)
        if self.power_loss is not None:
            return PowerLoss(self.power_loss)
        number = getattr(errno, self.error or "EIO")
        return OSError(number, os.strerror(number), target)


@define(eq=False, kw_only=True)
class ActiveFault:
    """A rule in force. seen: matching calls. hits: calls that got the fault."""

    rule: CallFault
    _remove: Callable[["ActiveFault"], None] = field(repr=False)
    seen: int = 0
    hits: int = 0
    _changed: trio.Event = field(factory=trio.Event, repr=False)

    def strikes(self, chance: Random) -> bool:
        """Return whether the matching call that was just counted gets the fault."""
        rule = self.rule
        if self.seen <= rule.after or (rule.times is not None and self.hits >= rule.times):
            return False
        if (self.seen - rule.after - 1) % rule.every:
            return False
        return rule.probability >= 1 or chance.random() < rule.probability

    def hit(self) -> None:
        """Count a fault."""
        self.hits += 1
        changed, self._changed = self._changed, trio.Event()
        changed.set()

    async def wait(self, hits: int = 1) -> None:
        """Wait until `hits` calls have got the fault, since the rule was added."""
        while self.hits < hits:
            await self._changed.wait()

    def remove(self) -> None:
        """End the rule. Idempotent."""
        self._remove(self)


@define(eq=False)
class CallFaults:
    """Rules in force, in the order in which they were added."""

    _chance: Random
    rules: list[ActiveFault] = field(factory=list, init=False)

    def add(self, rule: CallFault) -> ActiveFault:
        """Put a rule in force, behind the others."""
        fault = ActiveFault(rule=rule, remove=self._remove)
        self.rules.append(fault)
        return fault

    def clear(self) -> None:
        """Remove all rules."""
        self.rules.clear()

    def _remove(self, rule: ActiveFault) -> None:
        if rule in self.rules:
            self.rules.remove(rule)

    def __call__(self, machine: str, call: str, target: str) -> Verdict:
        """Return the verdict on a call; see `SimulatedRun.fault`."""
        verdict: Verdict = None
        for fault in self.rules:
            if fault.rule.matches(machine, call, target):
                fault.seen += 1
                if verdict is None and fault.strikes(self._chance):
                    fault.hit()
                    verdict = fault.rule.verdict(self._chance, target)
        return verdict
