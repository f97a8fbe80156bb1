"""The cluster that a command asks: its addresses, and settings for clients of it."""

from collections.abc import Mapping
from typing import Final

SERVERS: Final = "bootstrap.servers"


class Bootstrap(str):
    """Addresses `HOST:PORT`, separated by commas, and settings of clients by Kafka's names.

    settings: of profiles and files, for any kind of client. properties: of `--property`, which all
    must be settings of the client that the command opens.
    """

    __slots__ = ("properties", "settings")

    settings: Mapping[str, str]
    properties: Mapping[str, str]

    def __new__(
        cls,
        text: str,
        settings: Mapping[str, str] | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> "Bootstrap":
        bootstrap = super().__new__(cls, text)
        bootstrap.settings = settings or {}
        bootstrap.properties = properties or {}
        return bootstrap

    def without_properties(self) -> "Bootstrap":
        """Return the cluster for another client than the one that `--property` is about."""
        return Bootstrap(str(self), self.settings)
