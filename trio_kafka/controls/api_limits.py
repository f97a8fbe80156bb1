"""Limits of a running broker's APIs: a lower last version, or none at all.

    with ApiLimits(broker).cap_versions("Fetch", 11):
        ...

ApiVersions says what is left. Like Kafka, the broker closes the connection of a client that sends
another version or key. The registry of APIs does the work, so a request that is served costs
nothing.
"""

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.controls.api_names import ApiName, key_of_api, name_of_api
from trio_kafka.controls.running import HasParts
from trio_kafka.requests.registry import Registry

NOT_SERVED = (0, -1)
Versions = tuple[int, int]


class NoVersionLeftError(ValueError):
    """Limit below the first version of an API; `switch_off` is meant."""


@define(eq=False)
class ApiLimit:
    """One limit in force; a context manager that removes it."""

    key: int
    versions: Versions
    _remove: Callable[["ApiLimit"], None]

    def remove(self) -> None:
        """Remove the limit. Idempotent."""
        self._remove(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.remove()


@frozen
class ServedVersions:
    """Versions of an API that are served; None and None: it is switched off."""

    api: str
    first: int | None
    last: int | None


@define(eq=False)
class ApiLimits:
    """Limits of one broker. Several limits of one API: the narrowest versions remain."""

    _broker: HasParts
    _limits: list[ApiLimit] = field(factory=list, init=False)

    def cap_versions(self, api: ApiName, last: int, *, first: int = 0) -> ApiLimit:
        """Serve an API only up to the version `last`, as an older Kafka does.

        Raises UnknownApiError, NoVersionLeftError.
        """
        key = key_of_api(api, self._apis)
        offered = next(api for api in self._apis.with_all_versions() if api.key == key)
        if max(first, offered.first) > min(last, offered.last):
            raise NoVersionLeftError(
                f"no version of {offered.name} is left from {first} to {last}: want some of"
                f" {offered.first} to {offered.last}, or switch it off"
            )
        return self._add(key, (first, last))

    def switch_off(self, api: ApiName) -> ApiLimit:
        """Serve an API no more, as a Kafka that does not have it. Raises UnknownApiError."""
        return self._add(key_of_api(api, self._apis), NOT_SERVED)

    def restore(self, api: ApiName) -> None:
        """Remove all limits of an API. Raises UnknownApiError."""
        key = key_of_api(api, self._apis)
        self._keep([limit for limit in self._limits if limit.key != key])

    def clear(self) -> None:
        """Remove all limits."""
        self._keep([])

    def attach(self, broker: HasParts) -> None:
        """Limit the APIs of another broker: the next life of the same one."""
        self._broker = broker
        self._keep(self._limits)

    @property
    def served(self) -> list[ServedVersions]:
        """Versions of each API, by key."""
        remaining = {api.key: api for api in self._apis}
        return [
            ServedVersions(api.name, remaining[api.key].first, remaining[api.key].last)
            if api.key in remaining
            else ServedVersions(api.name, None, None)
            for api in self._apis.with_all_versions()
        ]

    @property
    def limited(self) -> Mapping[str, Versions]:
        """Limits in force by name of the API."""
        limits = self._by_key()
        return {name_of_api(key, self._apis): versions for key, versions in limits.items()}

    @property
    def _apis(self) -> Registry:
        return self._broker.parts.apis

    def _add(self, key: int, versions: Versions) -> ApiLimit:
        limit = ApiLimit(key, versions, self._remove)
        self._keep([*self._limits, limit])
        return limit

    def _remove(self, limit: ApiLimit) -> None:
        if limit in self._limits:
            self._keep([other for other in self._limits if other is not limit])

    def _keep(self, limits: list[ApiLimit]) -> None:
        self._limits = limits
        self._broker.parts.interceptors.limit(self._by_key())

    def _by_key(self) -> dict[int, Versions]:
        common: dict[int, Versions] = {}
        for limit in self._limits:
            first, last = common.get(limit.key, limit.versions)
            common[limit.key] = max(first, limit.versions[0]), min(last, limit.versions[1])
        return common
