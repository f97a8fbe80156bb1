"""The cluster that a command asks: its addresses, and settings for clients of it."""

from collections.abc import Mapping
from typing import Final

SERVERS: Final = "bootstrap.servers"
HTTP: Final = "trio.http."
"""Begins names of settings of a profile, or of a file, that are about HTTP; no client has them."""
HTTP_URL: Final = f"{HTTP}url"
HTTP_TESTING_URL: Final = f"{HTTP}testing.url"
HTTP_NAMES: Final = (
    HTTP_URL,
    HTTP_TESTING_URL,
    *(f"{HTTP}{name}" for name in ("ca", "user", "password", "token")),
)


class Bootstrap(str):
    """Addresses `HOST:PORT`, separated by commas, and settings of clients by Kafka's names.

    settings: of profiles and files, for any kind of client. properties: of `--property`, which all
    must be settings of the client that the command opens. http: settings of the HTTP plane.
    """

    __slots__ = ("http", "properties", "settings")

    settings: Mapping[str, str]
    properties: Mapping[str, str]
    http: Mapping[str, str]

    def __new__(
        cls,
        text: str,
        settings: Mapping[str, str] | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> "Bootstrap":
        bootstrap = super().__new__(cls, text)
        bootstrap.settings, bootstrap.http = split_http(settings or {})
        bootstrap.properties = properties or {}
        return bootstrap

    def without_properties(self) -> "Bootstrap":
        """Return the cluster for another client than the one that `--property` is about."""
        return Bootstrap(str(self), {**self.settings, **self.http})


def split_http(settings: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the settings of clients, and those that are about HTTP."""
    http = {name: value for name, value in settings.items() if name.startswith(HTTP)}
    return {name: value for name, value in settings.items() if name not in http}, http
