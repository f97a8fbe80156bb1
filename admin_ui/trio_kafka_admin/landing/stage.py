"""Stages of the way of a request, as data."""

from collections.abc import Sequence
from typing import Literal

from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka_admin.findings.finding import Severity
from trio_kafka_admin.landing.dots import DotRow

StageName = Literal[
    "listener", "connections", "channel", "handlers", "parked", "coordinator", "log", "answers"
]
BRANCHES: tuple[StageName, ...] = ("parked", "coordinator", "log")
"""Where handlers send a request; the other stages follow each other."""


@frozen
class Reason:
    """Finding that a stage shows, by its title."""

    severity: Severity
    words: str


@frozen(kw_only=True)
class Stage:
    """One stage. count, unit: its main figure. state: the worst of `why`, or "well".

    brief: what a folded stage says. bar: value and bound of a filling. notes: further figures, as
    sentence parts.
    """

    name: StageName
    title: str
    count: float | None
    unit: str
    state: Severity | Literal["well"] = "well"
    brief: str = ""
    rows: Sequence[DotRow] = ()
    bar: tuple[float, float] | None = None
    notes: Sequence[str] = ()
    why: Sequence[Reason] = field(factory=tuple)


@frozen(kw_only=True)
class Lane:
    """Way of a request through one plane.

    state: the worst of its stages. per_s: requests a second; None: unknown.
    """

    plane: str
    state: Severity | Literal["well"]
    per_s: float | None
    stages: Sequence[Stage]
