"""Plugins of a broker, as handlers see them."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from trio_kafka.attributes import frozen


@frozen(kw_only=True)
class PluginStatus:
    """Status of one plugin.

    since: time of the last change of state, in seconds since 1970.
    generation: number of its current generation; 0: never started.
    past: number of earlier generations that have not ended.
    failures: of the plugin itself. failed_requests: requests that raised in its code.
    settings: its own settings, without secrets.
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
    failed_requests: int
    error: str
    contributions: Sequence[str]
    settings: Mapping[str, str]


class Plugins(Protocol):
    """Plugins of one broker."""

    def statuses(self) -> Sequence[PluginStatus]:
        """Return the status of each plugin, in the order of their start."""

    async def reload(self, name: str) -> int:
        """Reload a plugin; return the number of its new generation.

        Raises PluginError; TooSoonError for more than one reload a second (see
        `plugin_host.reload`); KeyError for an unknown name.
        """
