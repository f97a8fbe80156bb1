"""DescribeConfigs (key 32): describe settings of topics, brokers and groups, with their sources.

Never waits. Many resources are described in steps, from the metadata of the moment it began. A
resource that is named twice is described once, with all settings that were asked for. The resource
"" of type BROKER holds the dynamic settings of all brokers; BROKER_LOGGER holds the log levels of
this process. Secrets are never told. An unknown type of resource makes the whole request invalid.
Source: KIP-133, KIP-226 (synonyms), KIP-412, KIP-569 (types and documentation).

Needs DESCRIBE_CONFIGS on each topic or group; on the cluster for all other types.
"""

from collections.abc import Iterable
from functools import partial
from typing import Final

from trio_kafka.config.report.describe import (
    Row,
    describe_broker,
    describe_broker_defaults,
    describe_client_metrics,
    describe_group,
    describe_topic,
)
from trio_kafka.controller.config_admin import check_broker
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.levels import logger_levels
from trio_kafka.metadata.effective import EffectiveConfig
from trio_kafka.metadata.image import ConfigResourceType, MetadataImage
from trio_kafka.metadata.names import check_topic_name
from trio_kafka.pending import Eventual
from trio_kafka.protocol.messages.k32_describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from trio_kafka.requests.api import MANY_PARTITIONS, api
from trio_kafka.requests.context import Context
from trio_kafka.requests.lazy_arrays import lazily
from trio_kafka.requests.rows import for_each
from trio_kafka.security.operations import Operation

DYNAMIC_BROKER_LOGGER: Final = 6  # the source of a level
SLICE: Final = 100  # resources in one step
TYPES: Final = frozenset(ConfigResourceType) - {ConfigResourceType.UNKNOWN}


@api(DescribeConfigsRequest, largest=MANY_PARTITIONS)
def describe_configs(
    request: DescribeConfigsRequest, context: Context
) -> Eventual[DescribeConfigsResponse]:
    for resource in request.resources:
        if resource.resource_type not in TYPES:
            reason = f"unknown resource type {resource.resource_type}"
            raise KafkaError(ErrorCode.INVALID_REQUEST, reason)
    describe = partial(_describe, request=request, image=context.image, context=context)
    if len(request.resources) == 1:
        return DescribeConfigsResponse(results=[describe(request.resources[0])])
    settings: dict[tuple[int, str], dict[str, None] | None] = {}  # None: all settings

    def add(resource: DescribeConfigsResource) -> None:
        key = resource.resource_type, resource.resource_name
        if not resource.configuration_keys:
            settings[key] = None
        elif (names := settings.setdefault(key, {})) is not None:
            names.update(dict.fromkeys(resource.configuration_keys))

    def answer() -> DescribeConfigsResponse:
        return DescribeConfigsResponse(
            # A resource is described when it is written (0.5 ms for a topic).
            results=lazily(settings.items(), lambda item: describe(_resource(*item)))
        )

    return for_each(request.resources, add, answer)


def _resource(key: tuple[int, str], names: dict[str, None] | None) -> DescribeConfigsResource:
    """Return a resource with the settings of all that were asked for it."""
    return DescribeConfigsResource(*key, None if names is None else list(names))


def _describe(
    resource: DescribeConfigsResource,
    *,
    request: DescribeConfigsRequest,
    image: MetadataImage,
    context: Context,
) -> DescribeConfigsResult:
    result = DescribeConfigsResult(
        resource_type=resource.resource_type, resource_name=resource.resource_name
    )
    try:
        context.authorize_settings(
            Operation.DESCRIBE_CONFIGS, resource.resource_type, resource.resource_name
        )
        if resource.resource_type == ConfigResourceType.BROKER_LOGGER:
            result.configs = _levels(resource, context)
        else:
            result.configs = [
                _result_of(
                    row, synonyms=request.include_synonyms, doc=request.include_documentation
                )
                for row in _rows(resource, image, context)
            ]
    except KafkaError as error:
        result.error_code, result.error_message = error.code, error.message
    return result


def _levels(
    resource: DescribeConfigsResource, context: Context
) -> list[DescribeConfigsResourceResult]:
    check_broker(resource.resource_name, context.node_id)
    names = frozenset(resource.configuration_keys or ())
    return [
        DescribeConfigsResourceResult(
            name=name, value=level, config_source=DYNAMIC_BROKER_LOGGER, documentation=None
        )
        for name, level in logger_levels().items()
        if not names or name in names
    ]


def _rows(
    resource: DescribeConfigsResource, image: MetadataImage, context: Context
) -> Iterable[Row]:
    name, names = resource.resource_name, resource.configuration_keys or None
    layers = context[EffectiveConfig].usable(image)
    if resource.resource_type == ConfigResourceType.TOPIC:
        check_topic_name(name)
        if image.topic(name) is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"no topic {name}")
        return describe_topic(context[EffectiveConfig].topic(image, name).texts, layers, names)
    if resource.resource_type == ConfigResourceType.BROKER:
        if not name:
            return describe_broker_defaults(layers, names)
        check_broker(name, context.node_id)
        return describe_broker(layers, names)
    if resource.resource_type == ConfigResourceType.GROUP:
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "an empty group name: expected a name")
        return describe_group(image.config(ConfigResourceType.GROUP, name), layers, names)
    if resource.resource_type == ConfigResourceType.CLIENT_METRICS:
        if not name:
            reason = "an empty subscription name: expected a name"
            raise KafkaError(ErrorCode.INVALID_REQUEST, reason)
        texts = image.config(ConfigResourceType.CLIENT_METRICS, name)
        return describe_client_metrics(texts, layers, names)
    kind = ConfigResourceType(resource.resource_type).name
    raise KafkaError(ErrorCode.INVALID_REQUEST, f"settings of type {kind} are not served yet")


def _result_of(row: Row, *, synonyms: bool, doc: bool) -> DescribeConfigsResourceResult:
    return DescribeConfigsResourceResult(
        name=row.name,
        value=row.value,
        read_only=row.read_only,
        config_source=row.source,
        is_sensitive=row.sensitive,
        synonyms=[
            DescribeConfigsSynonym(synonym.name, synonym.value, synonym.source)
            for synonym in row.synonyms
        ]
        if synonyms
        else [],
        config_type=row.kind,
        documentation=row.doc if doc else None,
    )
