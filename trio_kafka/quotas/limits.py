"""Limit of a client: eight levels, the most specific first.

1. user and client id; 2. user, any client id; 3. user; 4. any user, client id; 5. any user, any
client id; 6. any user; 7. client id; 8. any client id.

A client is charged as a `Payer`, together with others that share its limit. If the user has the
limit, all its clients share it (an empty client id). If no user has one, each client id is charged
alone (an empty user). Source: ClientQuotaManager of Apache Kafka 4.4.0 (quotaMetricTags,
quotaLimit); KIP-257.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

ANY: Final = None  # the default of a type: clients without a limit of their own

Name = str | None
# (user, client id): each "" where the entity is not about it, ANY for its default.
Entity = tuple[Name, Name]

_CLIENT_ID: Final = 1
_USER: Final = 2
_BOTH: Final = 4


class Payer(NamedTuple):
    """Clients that are charged together: the tags of Kafka's metrics."""

    user: str
    client_id: str


class Limits:
    """Limits of one kind, by entity. False if there are none."""

    def __init__(self) -> None:
        self._limits: dict[Entity, float] = {}
        self._counts = {_CLIENT_ID: 0, _USER: 0, _BOTH: 0}
        self._kinds = 0  # of entities that have a limit, as bits

    def __bool__(self) -> bool:
        return bool(self._limits)

    def __len__(self) -> int:
        return len(self._limits)

    def __iter__(self) -> Iterator[tuple[Entity, float]]:
        return iter(self._limits.items())

    def set(self, entity: Entity, limit: float | None) -> None:
        """Set the limit of an entity; None removes it."""
        kind = _kind(entity)
        if limit is not None:
            self._counts[kind] += entity not in self._limits
            self._limits[entity] = limit
        elif self._limits.pop(entity, None) is not None:
            self._counts[kind] -= 1
        self._kinds = sum(kind for kind, count in self._counts.items() if count)

    def payer(self, user: str, client_id: str) -> Payer:
        """Return the payer that a client is charged as."""
        kinds, limits = self._kinds, self._limits
        if kinds <= _CLIENT_ID:  # nearly always one kind is in use
            return Payer("", client_id)
        if kinds == _USER:
            return Payer(user, "")
        if kinds == _BOTH:
            return Payer(user, client_id)
        both = Payer(user, client_id)
        for entity, payer in (
            ((user, client_id), both),
            ((user, ANY), both),
            ((user, ""), Payer(user, "")),
            ((ANY, client_id), both),
            ((ANY, ANY), both),
            ((ANY, ""), Payer(user, "")),
        ):
            if entity in limits:
                return payer
        return Payer("", client_id)

    def limit(self, payer: Payer) -> float | None:
        """Return the limit of a payer; None: there is none."""
        user, client_id = payer
        levels: tuple[Entity, ...]
        if user and client_id:
            levels = (user, client_id), (user, ANY), (ANY, client_id), (ANY, ANY)
        elif user:
            levels = (user, ""), (ANY, "")
        elif client_id:
            levels = ("", client_id), ("", ANY)
        else:
            return None
        limits = self._limits
        for entity in levels:
            if entity in limits:
                return limits[entity]
        return None


def _kind(entity: Entity) -> int:
    user, client_id = entity
    if user == "":
        return _CLIENT_ID
    return _USER if client_id == "" else _BOTH
