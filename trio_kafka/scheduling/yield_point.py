"""Yield point: where long synchronous work lets a more urgent plane serve its requests.

A broker has one `YieldPoint`, given to its parts when they are made. Opening the control plane
binds it; until then a call does nothing.
"""

from collections.abc import Callable
from typing import Final


def _nothing() -> None:
    """Do nothing: no plane is bound."""


class YieldPoint:
    """Call it between two pieces of work. bound: whether anything may run in the call."""

    __slots__ = ("_call", "bound")

    def __init__(self) -> None:
        self._call: Callable[[], object] = _nothing
        self.bound = False

    def bind(self, call: Callable[[], object]) -> None:
        """Run `call` at each yield point from now on."""
        self._call = call
        self.bound = call is not _nothing

    def __call__(self) -> None:
        self._call()


UNBOUND: Final = YieldPoint()  # the default of parts that share the loop with no other plane
