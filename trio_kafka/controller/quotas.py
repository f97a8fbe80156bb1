"""Changes of client quotas: which keys and values an entity can have.

Source: ClientQuotaControlManager and QuotaConfig of Apache Kafka 4.4.0; KIP-546, KIP-612.
"""

from collections.abc import Mapping
from ipaddress import ip_address
from math import inf, isnan
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.controller.decision import Decision
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.image import MetadataImage, QuotaEntity
from trio_kafka.metadata.quotas import CLIENT_ID, ENTITY_TYPES, IP, USER
from trio_kafka.protocol.stored.metadata.quotas import ClientQuotaRecord
from trio_kafka.protocol.structs.cluster import EntityData
from trio_kafka.quotas.quotas import (
    CONNECTION_CREATION_RATE,
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
)

MOST_CHANGES: Final = 10_000  # of one request
_FRACTION: Final = 1e-6  # tolerance of a whole number


@frozen
class QuotaKey:
    """Rules for the values of a quota: the largest one, and whether they are whole numbers."""

    most: float
    whole: bool


_LONG: Final = QuotaKey(float(1 << 63), whole=True)
_DOUBLE: Final = QuotaKey(inf, whole=False)
CLIENT_KEYS: Final[Mapping[str, QuotaKey]] = {
    PRODUCER_BYTE_RATE: _LONG,
    CONSUMER_BYTE_RATE: _LONG,
    REQUEST_PERCENTAGE: _DOUBLE,
    CONTROLLER_MUTATION_RATE: _DOUBLE,
}
IP_KEYS: Final[Mapping[str, QuotaKey]] = {
    CONNECTION_CREATION_RATE: QuotaKey((1 << 31) - 1, whole=True)
}


@frozen
class QuotaChange:
    """Changed quotas of one entity; None removes one. repeated: a key that is named twice."""

    entity: QuotaEntity
    values: Mapping[str, float | None]
    repeated: str | None = None


def alter_quotas(image: MetadataImage, change: QuotaChange) -> Decision[None]:
    """Change the quotas of an entity, all or none. Raises KafkaError(INVALID_REQUEST)."""
    if change.repeated is not None:
        raise _invalid(f"quota {change.repeated} is named twice")
    keys = keys_of(change.entity)
    old = image.quotas.get(change.entity, {})
    for key, value in change.values.items():
        if value is not None:
            _check_value(keys, key, value)
    records = [
        _record(change.entity, key, value)
        for key, value in change.values.items()
        if old.get(key) != value
    ]
    return Decision(None, records)


def keys_of(entity: QuotaEntity) -> Mapping[str, QuotaKey]:
    """Return the keys that an entity can have. Raises KafkaError for an invalid entity."""
    if not entity:
        raise _invalid("an entity without a type: expected user, client-id or ip")
    for kind, name in entity:
        if kind not in ENTITY_TYPES:
            raise _invalid(f"unknown entity type {kind!r}: expected user, client-id or ip")
        if name == "":
            raise _invalid(f"an empty {kind}: expected a name, or null for the default")
    names = dict(entity)
    if IP not in names:
        return CLIENT_KEYS
    if USER in names or CLIENT_ID in names:
        raise _invalid("an address has no quotas together with a user or a client id")
    _check_address(names[IP])
    return IP_KEYS


def _check_address(address: str | None) -> None:
    if address is not None:
        try:
            ip_address(address)
        except ValueError:
            raise _invalid(f"ip {address!r}: expected an address") from None


def _check_value(keys: Mapping[str, QuotaKey], key: str, value: float) -> None:
    rule = keys.get(key)
    if rule is None:
        raise _invalid(f"quota {key!r}: expected one of {', '.join(sorted(keys))}")
    if isnan(value) or value <= 0:
        raise _invalid(f"{key}: {value}: expected more than 0")
    if value > rule.most:
        raise _invalid(f"{key}: {value}: expected at most {rule.most:.0f}")
    if rule.whole and value % 1 > _FRACTION:
        raise _invalid(f"{key}: {value}: expected a whole number")


def _record(entity: QuotaEntity, key: str, value: float | None) -> ClientQuotaRecord:
    parts = [EntityData(entity_type=kind, entity_name=name) for kind, name in entity]
    if value is None:
        return ClientQuotaRecord(entity=parts, key=key, remove=True)
    return ClientQuotaRecord(entity=parts, key=key, value=value)


def _invalid(reason: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, reason)
