"""Client quotas in an image: types of entities, and filters for them.

Source: ClientQuotasImage of Apache Kafka 4.4.0; KIP-546, KIP-612.
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from typing import Final, Protocol

from trio_kafka.attributes import frozen
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.image import MetadataImage, QuotaEntity

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"
ENTITY_TYPES: Final = (USER, CLIENT_ID, IP)


class Match(IntEnum):
    """Type of a filter component (int8 on the wire)."""

    EXACT = 0
    DEFAULT = 1
    SPECIFIED = 2


class Component(Protocol):
    """Filter component of a request, for one type of entity. match: the name, for EXACT only."""

    entity_type: str
    match_type: int
    match: str | None


@frozen
class QuotaFilter:
    """Filter of entities. exact: names by type. any_name: types. strict: no other types."""

    exact: Mapping[str, str | None]
    any_name: frozenset[str]
    strict: bool

    def __call__(self, entity: QuotaEntity) -> bool:
        names = dict(entity)
        if self.strict and len(names) != len(self.exact) + len(self.any_name):
            return False
        if not self.any_name <= names.keys():
            return False
        return all(kind in names and names[kind] == name for kind, name in self.exact.items())


def quota_filter(components: Iterable[Component], *, strict: bool) -> QuotaFilter:
    """Return the filter of a request.

    Raises KafkaError: INVALID_REQUEST, UNSUPPORTED_VERSION for an unknown type of entity.
    """
    exact: dict[str, str | None] = {}
    any_name: set[str] = set()
    for component in components:
        kind = component.entity_type
        if not kind:
            raise _invalid("an empty entity type: expected user, client-id or ip")
        if kind in exact or kind in any_name:
            raise _invalid(f"type {kind} is named twice")
        if kind not in ENTITY_TYPES:
            raise KafkaError(
                ErrorCode.UNSUPPORTED_VERSION,
                f"unknown entity type {kind}: expected user, client-id or ip",
            )
        if (component.match is None) == (component.match_type == Match.EXACT):
            raise _invalid(f"match type {component.match_type} with the name {component.match!r}")
        if component.match_type in (Match.EXACT, Match.DEFAULT):
            exact[kind] = component.match
        elif component.match_type == Match.SPECIFIED:
            any_name.add(kind)
        else:
            raise _invalid(f"unknown match type {component.match_type}: expected 0, 1 or 2")
    kinds = exact.keys() | any_name
    if IP in kinds and len(kinds) > 1:
        raise _invalid("an address has no quotas together with a user or a client id")
    return QuotaFilter(exact, frozenset(any_name), strict)


def quotas_that(
    matches: QuotaFilter, image: MetadataImage
) -> Iterator[tuple[QuotaEntity, Mapping[str, float]] | None]:
    """Yield the entities that match, with their quotas, and None for each other one.

    The caller can so slice a search through many entities.
    """
    for entity, quotas in image.quotas.items():
        yield (entity, quotas) if matches(entity) else None


def _invalid(reason: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, reason)
