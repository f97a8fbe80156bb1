"""Changes of access control entries: which entries can be created, and which a filter removes.

The entries of a request are created by one batch of records, so a crash keeps all or none.
Source: AclControlManager and AclApis of Apache Kafka 4.4.0; KIP-801, KIP-1276 (CIDR).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from trio_kafka.controller.decision import Decision
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.features import METADATA_VERSION
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.protocol.stored.metadata.security import (
    AccessControlEntryRecord,
    RemoveAccessControlEntryRecord,
)
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.security.acls.entries import (
    ANYTHING,
    Acl,
    PatternType,
    PermissionType,
    acl_of,
    record_of,
)
from trio_kafka.security.acls.filters import AclFilter
from trio_kafka.security.acls.hosts import parse_range
from trio_kafka.security.operations import Operation
from trio_kafka.security.resources import THE_CLUSTER, ResourceType

MOST_RECORDS: Final = 10_000  # of one request, as in Kafka
MOST_MATCHES: Final = 10 * MOST_RECORDS
"""Entries in the results of one request, where filters match the same ones again."""
RANGES_LEVEL: Final = 32
"""First level of metadata.version whose entries may have ranges of addresses: 4.4-IV1."""
_STEP: Final = 100  # entries, about 2 µs each
_ID_SIZE: Final = 16

_RESOURCE_TYPES: Final = frozenset(ResourceType) - {ResourceType.UNKNOWN, ResourceType.ANY}
_PATTERN_TYPES: Final = frozenset((PatternType.LITERAL, PatternType.PREFIXED))
_OPERATIONS: Final = frozenset(Operation) - {Operation.UNKNOWN, Operation.ANY}
_PERMISSIONS: Final = frozenset((PermissionType.DENY, PermissionType.ALLOW))

Created = list[KafkaError | None]
Deleted = list[list[Acl] | KafkaError]


def ids_by_acl(records: Iterable[AccessControlEntryRecord]) -> Steps[dict[Acl, bytes]]:
    """Return the ids of records by their entries."""
    acls: dict[Acl, bytes] = {}
    for number, record in enumerate(records, 1):
        acls[acl_of(record)] = record.id
        if not number % _STEP:
            yield
    return acls


def create_acls(
    image: MetadataImage,
    existing: Mapping[Acl, bytes],
    acls: Sequence[Acl],
    random_bytes: Callable[[int], bytes],
) -> Decision[Created]:
    """Create entries; the result has an error or None for each, complete with the records.

    existing: ids of all entries of the cluster. One that exists is no error, and is not written
        again.
    Raises KafkaError(POLICY_VIOLATION) while the records are made, if they are too many.
    """
    created: Created = []
    return Decision(created, _created(image, existing, acls, random_bytes, created))


def _created(
    image: MetadataImage,
    existing: Mapping[Acl, bytes],
    acls: Sequence[Acl],
    random_bytes: Callable[[int], bytes],
    created: Created,
) -> Iterator[AccessControlEntryRecord | None]:
    ranges = image.features.get(METADATA_VERSION, 0) >= RANGES_LEVEL
    added: set[Acl] = set()
    for number, acl in enumerate(acls, 1):
        try:
            check_acl(acl, ranges=ranges)
        except KafkaError as error:
            created.append(error.as_value())
        else:
            created.append(None)
            if acl not in existing and acl not in added:
                if len(added) == MOST_RECORDS:
                    raise KafkaError(
                        ErrorCode.POLICY_VIOLATION,
                        f"too many entries: expected at most {MOST_RECORDS} new ones in a request",
                    )
                added.add(acl)
                yield record_of(acl, _new_id(image.acls, random_bytes))
        if not number % _STEP:
            yield None


def _new_id(ids: Mapping[bytes, object], random_bytes: Callable[[int], bytes]) -> bytes:
    acl_id = random_bytes(_ID_SIZE)
    while acl_id in ids:
        acl_id = random_bytes(_ID_SIZE)
    return acl_id


def delete_acls(existing: Mapping[Acl, bytes], filters: Sequence[AclFilter]) -> Decision[Deleted]:
    """Remove the entries that filters match; the result has those of each filter, or an error.

    It is complete with the records. An entry that two filters match is in both results. Beyond
    10,000 entries a filter fails; what it matched until then is removed all the same, as in Kafka.
    """
    deleted: Deleted = []
    return Decision(deleted, _deleted(existing, filters, deleted))


def _deleted(
    existing: Mapping[Acl, bytes], filters: Sequence[AclFilter], deleted: Deleted
) -> Iterator[RemoveAccessControlEntryRecord | None]:
    removed: set[bytes] = set()
    matches = 0
    for filter_ in filters:
        try:
            check_filter(filter_)
            matching: list[Acl] = []
            for acl in _matching(existing, filter_):
                if acl is None:
                    yield None
                    continue
                matches += 1
                if len(removed) >= MOST_RECORDS or matches > MOST_MATCHES:
                    raise _invalid(f"more than {MOST_RECORDS} entries: expected fewer at once")
                matching.append(acl)
                acl_id = existing[acl]
                if acl_id not in removed:
                    removed.add(acl_id)
                    yield RemoveAccessControlEntryRecord(id=acl_id)
            deleted.append(matching)
        except KafkaError as error:
            deleted.append(error.as_value())


def _matching(existing: Mapping[Acl, bytes], filter_: AclFilter) -> Iterator[Acl | None]:
    """Yield the entries that a filter matches, and None after some that it does not."""
    only = filter_.only()
    if only is not None:
        if only in existing:
            yield only
        return
    for number, acl in enumerate(existing, 1):
        if filter_.matches(acl):
            yield acl
        if not number % _STEP:
            yield None


def check_acl(acl: Acl, *, ranges: bool) -> None:
    """Check a new entry. ranges: whether its host may be a range.

    Raises KafkaError: INVALID_REQUEST; UNSUPPORTED_VERSION for a range that is not allowed yet.
    """
    if acl.resource_type == ResourceType.CLUSTER and acl.name != THE_CLUSTER.name:
        raise _invalid(f"cluster {acl.name!r}: expected {THE_CLUSTER.name}")
    if acl.resource_type not in _RESOURCE_TYPES:
        raise _invalid(f"resource type {acl.resource_type}: expected the type of a resource")
    if acl.pattern_type not in _PATTERN_TYPES:
        raise _invalid(f"pattern type {acl.pattern_type}: expected literal or prefixed")
    if acl.operation not in _OPERATIONS:
        raise _invalid(f"operation {acl.operation}: expected one operation, or all")
    if acl.permission not in _PERMISSIONS:
        raise _invalid(f"permission {acl.permission}: expected deny or allow")
    if not acl.name:
        raise _invalid("an empty resource name: expected a name, or *")
    if ":" not in acl.principal:
        raise _invalid(f"principal {acl.principal!r}: expected type:name, for example User:alice")
    _check_host(acl.host, ranges=ranges)


def _check_host(host: str, *, ranges: bool) -> None:
    if not host:
        raise _invalid(f"an empty host: expected an address, or {ANYTHING}")
    if "/" not in host:
        return
    if not ranges:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_VERSION,
            f"host {host} is a range of addresses: raise metadata.version to 4.4-IV1 first",
        )
    try:
        parse_range(host)
    except ValueError as error:
        raise _invalid(f"host {error}") from None


def check_filter(filter_: AclFilter) -> None:
    """Check a filter. Raises KafkaError(INVALID_REQUEST) for types that are unknown here."""
    for name, value, values in (
        ("resource type", filter_.resource_type, ResourceType),
        ("pattern type", filter_.pattern_type, PatternType),
        ("operation", filter_.operation, Operation),
        ("permission", filter_.permission, PermissionType),
    ):
        if value not in values._value2member_map_ or not value:
            raise _invalid(f"{name} {value} is unknown here")


def _invalid(reason: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, reason)
