"""Schedules of faults, as lists of plain values.

A fault is a tuple: the time in seconds after the schedule begins, its kind, and its arguments:

    [(0.5, "lose_power", 0.0, 1.0), (2.0, "cut", 3.0), (4.0, "slow_disk", 0.05, 1.0)]

Such a list can be printed, kept in a file and shrunk by hypothesis: each fault can be left out.
"""

from collections.abc import Collection, Mapping, Sequence
from random import Random
from typing import Any, Final

from trio_kafka.attributes import frozen

Fault = tuple[Any, ...]
Schedule = list[Fault]
MOST_S: Final = 3600.0


@frozen(kw_only=True)
class Argument:
    """Argument of a kind of fault: a number within bounds, one of some texts, or a pattern.

    usual, usual_texts, weights: for values that the seed draws.
    """

    name: str
    low: float = 0.0
    high: float = 0.0
    choices: tuple[str, ...] = ()
    weights: tuple[int, ...] | None = None
    usual_texts: tuple[str, ...] = ()
    whole: bool = False
    usual: tuple[float, float] = (0.0, 0.0)

    def check(self, kind: str, value: object) -> None:
        """Raise ValueError for a value that is not allowed."""
        if self.choices:
            if value not in self.choices:
                raise ValueError(f"{kind}: {self.name}={value!r}, want one of {self.choices}")
        elif self.usual_texts:
            if not isinstance(value, str) or not value:
                raise ValueError(f"{kind}: {self.name}={value!r}, want a pattern such as '*.log'")
        elif (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or (self.whole and not isinstance(value, int))
        ):
            raise ValueError(f"{kind}: {self.name}={value!r}, want a number")
        elif not self.low <= value <= self.high:
            raise ValueError(f"{kind}: {self.name}={value}, want {self.low:g} to {self.high:g}")

    def draw(self, chance: Random) -> object:
        """Return a usual value."""
        if self.choices or self.usual_texts:
            return chance.choices(self.choices or self.usual_texts, self.weights)[0]
        if self.whole:
            return chance.randint(round(self.usual[0]), round(self.usual[1]))
        return round(chance.uniform(*self.usual), 3)


def _seconds(name: str, least: float, most: float) -> Argument:
    return Argument(name=name, high=MOST_S, usual=(least, most))


_DOWN: Final = _seconds("down_s", 0.05, 2.0)
_LASTS: Final = _seconds("lasts_s", 0.1, 3.0)
_KEPT: Final = Argument(name="kept", high=1.0, usual=(0.0, 1.0))
# Kinds of faults by what they strike; `Chaos` has a method for each kind.
KINDS: Final[Mapping[str, Mapping[str, tuple[Argument, ...]]]] = {
    "crashes": {
        "lose_power": (_KEPT, _DOWN),
        "lose_power_at": (
            Argument(
                name="call",
                choices=("append", "sync", "sync_directory", "create"),
                weights=(2, 4, 1, 1),
            ),
            Argument(name="target", usual_texts=("*", "*.log")),
            Argument(name="after", high=10_000, whole=True, usual=(0, 30)),
            _KEPT,
            _DOWN,
        ),
        "kill": (_DOWN,),
        "stop": (_DOWN,),
    },
    "links": {
        "cut": (_LASTS,),
        "cut_requests": (_LASTS,),
        "cut_answers": (_LASTS,),
        "half_open": (),
        "reset": (Argument(name="times", low=1, high=1000, whole=True, usual=(1, 4)), _LASTS),
    },
    "disks": {
        "slow_disk": (_seconds("delay_s", 0.005, 0.3), _LASTS),
        "fill_disk": (
            Argument(name="left_bytes", high=1 << 40, whole=True, usual=(0, 4000)),
            _LASTS,
        ),
        "fail_disk": (
            Argument(name="call", choices=("append", "sync", "create", "read")),
            Argument(name="times", low=1, high=1000, whole=True, usual=(1, 2)),
        ),
    },
    "clocks": {
        "drift_clock": (Argument(name="rate", low=-0.5, high=0.5, usual=(-0.01, 0.01)),),
        "step_clock": (Argument(name="seconds", low=-MOST_S, high=MOST_S, usual=(-5.0, 5.0)),),
    },
}
ARGUMENTS: Final = {kind: names for kinds in KINDS.values() for kind, names in kinds.items()}


def check_schedule(schedule: Sequence[Sequence[object]]) -> Schedule:
    """Return the faults as tuples, in order of time. Raises ValueError that names the mistake."""
    return sorted((_check(fault) for fault in schedule), key=lambda fault: fault[0])


def _check(fault: Sequence[Any]) -> Fault:
    if len(fault) < 2:
        raise ValueError(f"{fault!r}: want (time, kind, arguments...)")
    at_s, kind, *values = fault
    if kind not in ARGUMENTS:
        raise ValueError(f"unknown kind of fault {kind!r}: want one of {', '.join(ARGUMENTS)}")
    Argument(name="time", high=MOST_S).check(kind, at_s)
    arguments = ARGUMENTS[kind]
    if len(values) != len(arguments):
        names = ", ".join(argument.name for argument in arguments) or "none"
        raise ValueError(f"{kind}: {len(values)} arguments, want {len(arguments)}: {names}")
    for argument, value in zip(arguments, values, strict=True):
        argument.check(kind, value)
    return tuple(fault)


def draw_schedule(
    chance: Random, groups: Collection[str], *, within_s: float, most: int
) -> Schedule:
    """Return up to `most` faults of the groups of `KINDS`."""
    kinds = [kind for group in KINDS if group in groups for kind in KINDS[group]]
    faults = []
    for _ in range(chance.randint(1, most)):
        kind = chance.choice(kinds)
        at_s = round(chance.uniform(0, within_s), 3)
        faults.append((at_s, kind, *(argument.draw(chance) for argument in ARGUMENTS[kind])))
    return check_schedule(faults)
