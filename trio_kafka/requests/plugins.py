"""What handlers may know of a broker's plugins, and have done with them."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from trio_kafka.attributes import frozen


@frozen(kw_only=True)
class PluginStatus:
    """How a plugin is. since: seconds since 1970. generation: 0: never begun. past: generations
    that have not ended yet. settings: its own, as they may be shown.
    """

    name: str
    doc: str
    state: str
    since: float
    enabled: bool
    policy: str
    order: int
    generation: int
    past: int
    failures: int
    error: str
    contributions: Sequence[str]
    settings: Mapping[str, str]


class Plugins(Protocol):
    """Of one broker."""

    def statuses(self) -> Sequence[PluginStatus]:
        """In the order in which they start."""

    async def reload(self, name: str) -> int:
        """The number of the generation that serves then. Raises PluginError, KeyError.

        At most one reload of a plugin begins in a second: see `hosting.reload`.
        """
