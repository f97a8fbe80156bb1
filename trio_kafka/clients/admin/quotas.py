"""Calls about client quotas."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.clients.admin.calls.call import (
    Call,
    Plan,
    Rejection,
    perform,
    perform_single,
    result_of,
)
from trio_kafka.clients.admin.calls.results import Results
from trio_kafka.clients.admin.calls.targets import ANY, CONTROLLER
from trio_kafka.protocol.messages.k48_describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from trio_kafka.protocol.messages.k49_alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntryData,
    OpData,
)
from trio_kafka.protocol.structs.cluster import EntityData

_EXACT: Final = 0  # how a component of a filter matches
_DEFAULT: Final = 1
_SPECIFIED: Final = 2
Quotas = dict[str, float]


@frozen
class ClientQuotaEntity:
    """Clients that a quota is about: pairs of type and name, sorted by type.

    Types are `user`, `client-id` and `ip`. The name None is the default of its type.
    """

    entries: tuple[tuple[str, str | None], ...]


def quota_entity(names: Mapping[str, str | None]) -> ClientQuotaEntity:
    """Return an entity from names by type, such as `{"user": "a", "client-id": None}`."""
    return ClientQuotaEntity(tuple(sorted(names.items(), key=lambda entry: entry[0])))


@frozen(kw_only=True)
class ClientQuotaFilterComponent:
    """A condition: entities of a type with this name; without a name the default, or any.

    name: None: see is_default. is_default: only the default entity of the type.
    """

    entity_type: str
    name: str | None = None
    is_default: bool = False


def describe_client_quotas(
    components: Iterable[ClientQuotaFilterComponent] = (), *, strict: bool = False
) -> Plan[dict[ClientQuotaEntity, Quotas]]:
    """Return quotas by entity. components: all must match. strict: entities have no other types."""
    rows = list(map(_component, components))
    call: Call[None, DescribeClientQuotasResponse, dict[ClientQuotaEntity, Quotas]] = Call(
        targets={None: ANY},
        request=lambda _items, _timeout_ms: DescribeClientQuotasRequest(rows, strict),
        read=_read_quotas,
    )
    return perform_single(call)


def alter_client_quotas(
    changes: Mapping[ClientQuotaEntity, Mapping[str, float | None]], *, validate_only: bool = False
) -> Plan[Results[ClientQuotaEntity, None]]:
    """Set quotas of entities by name, such as `producer_byte_rate`; None removes one."""

    def request(items: Sequence[ClientQuotaEntity], _timeout_ms: int) -> AlterClientQuotasRequest:
        entries = [EntryData(_entity_data(item), _operations(changes[item])) for item in items]
        return AlterClientQuotasRequest(entries, validate_only)

    return perform(
        Call(targets=dict.fromkeys(changes, CONTROLLER), request=request, read=_read_altered)
    )


def _component(component: ClientQuotaFilterComponent) -> ComponentData:
    kind = _SPECIFIED
    if component.name is not None:
        kind = _EXACT
    elif component.is_default:
        kind = _DEFAULT
    return ComponentData(component.entity_type, kind, component.name)


def _entity_data(entity: ClientQuotaEntity) -> list[EntityData]:
    return [EntityData(kind, name) for kind, name in entity.entries]


def _entity(rows: Iterable[EntityData]) -> ClientQuotaEntity:
    return quota_entity({row.entity_type: row.entity_name for row in rows})


def _operations(quotas: Mapping[str, float | None]) -> list[OpData]:
    return [
        OpData(key, 0.0 if value is None else value, remove=value is None)
        for key, value in quotas.items()
    ]


def _read_quotas(
    response: DescribeClientQuotasResponse, _items: Sequence[None]
) -> Iterator[tuple[None, dict[ClientQuotaEntity, Quotas] | Rejection]]:
    quotas = {
        _entity(entry.entity): {value.key: value.value for value in entry.values}
        for entry in response.entries or ()
    }
    yield None, result_of(response.error_code, response.error_message, quotas)


def _read_altered(
    response: AlterClientQuotasResponse, _items: Sequence[ClientQuotaEntity]
) -> Iterator[tuple[ClientQuotaEntity, Rejection | None]]:
    for row in response.entries:
        yield _entity(row.entity), result_of(row.error_code, row.error_message, None)
