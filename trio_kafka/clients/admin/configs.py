"""Calls about settings of topics, brokers, loggers, groups and client metrics."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from trio_kafka.clients.admin.calls.call import (
    Call,
    Plan,
    Rejection,
    perform,
    perform_single,
    result_of,
)
from trio_kafka.clients.admin.calls.results import Results
from trio_kafka.clients.admin.calls.targets import ANY, CONTROLLER, BrokerTarget, Target
from trio_kafka.clients.admin.config_values import (
    AlterConfigOp,
    ConfigEntry,
    ConfigResource,
    ConfigResourceType,
    ConfigSynonym,
    resource_type_of,
    source_of,
    type_of,
)
from trio_kafka.clients.errors import Place
from trio_kafka.protocol.messages.k32_describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)
from trio_kafka.protocol.messages.k44_incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from trio_kafka.protocol.messages.k74_list_config_resources import (
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

_OF_A_BROKER: Final = (ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER)
Entries = dict[str, ConfigEntry]


def describe_configs(
    resources: Iterable[ConfigResource],
    *,
    names: Collection[str] | None = None,
    include_synonyms: bool = False,
    include_documentation: bool = False,
) -> Plan[Results[ConfigResource, Entries]]:
    """Return the settings of resources by name. names: None: all settings.

    include_documentation: needs a broker of Kafka 2.6 or later.
    """
    keys = None if names is None else list(names)

    def request(items: Sequence[ConfigResource], _timeout_ms: int) -> DescribeConfigsRequest:
        rows = [DescribeConfigsResource(item.type, item.name, keys) for item in items]
        return DescribeConfigsRequest(rows, include_synonyms, include_documentation)

    return perform(
        Call(
            targets={resource: _target(resource, ANY) for resource in resources},
            request=request,
            read=_read_configs,
            place=_place,
        )
    )


def incremental_alter_configs(
    changes: Mapping[ConfigResource, Iterable[AlterConfigOp]], *, validate_only: bool = False
) -> Plan[Results[ConfigResource, None]]:
    """Change single settings of resources; all changes of one resource are made, or none."""
    rows = {
        resource: [AlterableConfig(change.name, change.op_type, change.value) for change in ops]
        for resource, ops in changes.items()
    }

    def request(
        items: Sequence[ConfigResource], _timeout_ms: int
    ) -> IncrementalAlterConfigsRequest:
        resources = [AlterConfigsResource(item.type, item.name, rows[item]) for item in items]
        return IncrementalAlterConfigsRequest(resources, validate_only)

    return perform(
        Call(
            targets={resource: _target(resource, CONTROLLER) for resource in rows},
            request=request,
            read=_read_altered,
            place=_place,
        )
    )


def list_config_resources(
    types: Iterable[ConfigResourceType] = (),
) -> Plan[list[ConfigResource]]:
    """List the resources that can have settings. types: none: all that the broker knows."""
    numbers = [int(kind) for kind in types]
    call: Call[None, ListConfigResourcesResponse, list[ConfigResource]] = Call(
        targets={None: ANY},
        request=lambda _items, _timeout_ms: ListConfigResourcesRequest(numbers),
        read=_read_resources,
    )
    return perform_single(call)


def _target(resource: ConfigResource, otherwise: Target) -> Target:
    """Return the broker itself for its own settings and loggers. Raises ValueError."""
    if resource.type not in _OF_A_BROKER or not resource.name:
        return otherwise
    if not resource.name.isdecimal():
        raise ValueError(f"broker {resource.name!r}: want a node id, or an empty name for all")
    return BrokerTarget(int(resource.name))


def _place(resource: ConfigResource) -> Place:
    is_topic = resource.type is ConfigResourceType.TOPIC
    is_group = resource.type is ConfigResourceType.GROUP
    return Place(
        topic=resource.name if is_topic else None, group=resource.name if is_group else None
    )


def _resource(kind: int, name: str) -> ConfigResource | None:
    resource_type = resource_type_of(kind)
    return None if resource_type is None else ConfigResource(resource_type, name)


def _read_configs(
    response: DescribeConfigsResponse, _items: Sequence[ConfigResource]
) -> Iterator[tuple[ConfigResource, Entries | Rejection]]:
    for row in response.results:
        resource = _resource(row.resource_type, row.resource_name)
        if resource is not None:
            entries = {config.name: _entry(config) for config in row.configs}
            yield resource, result_of(row.error_code, row.error_message, entries)


def _entry(row: DescribeConfigsResourceResult) -> ConfigEntry:
    return ConfigEntry(
        name=row.name,
        value=row.value,
        source=source_of(row.config_source),
        is_sensitive=row.is_sensitive,
        is_read_only=row.read_only,
        synonyms=tuple(
            ConfigSynonym(name=synonym.name, value=synonym.value, source=source_of(synonym.source))
            for synonym in row.synonyms
        ),
        type=type_of(row.config_type),
        documentation=row.documentation,
    )


def _read_altered(
    response: IncrementalAlterConfigsResponse, _items: Sequence[ConfigResource]
) -> Iterator[tuple[ConfigResource, Rejection | None]]:
    for row in response.responses:
        resource = _resource(row.resource_type, row.resource_name)
        if resource is not None:
            yield resource, result_of(row.error_code, row.error_message, None)


def _read_resources(
    response: ListConfigResourcesResponse, _items: Sequence[None]
) -> Iterator[tuple[None, list[ConfigResource] | Rejection]]:
    resources = [
        resource
        for row in response.config_resources
        if (resource := _resource(row.resource_type, row.resource_name)) is not None
    ]
    yield None, result_of(response.error_code, None, resources)
