"""ListConfigResources (key 74): what there is that has settings, by type and name.

Never waits. Version 0 knows of subscriptions to clients' metrics alone; version 1 has the type in
each item, and is asked for types, none of them meaning all. A type that nobody knows is
UNSUPPORTED_VERSION. Brokers are those that serve on the listener that is asked, groups those that
have settings of their own. Nothing has settings of the type CLIENT_METRICS yet.
Source: KIP-1000, KIP-1142.
"""

from collections.abc import Iterator
from typing import Final

from trio_kafka.plugin import ConfigResourceType, Context, ErrorCode, KafkaError, api, endpoints_on
from trio_kafka.protocol.messages.k74_list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

# In the order in which they are told.
TYPES: Final = (
    ConfigResourceType.GROUP,
    ConfigResourceType.CLIENT_METRICS,
    ConfigResourceType.BROKER_LOGGER,
    ConfigResourceType.BROKER,
    ConfigResourceType.TOPIC,
)


@api(ListConfigResourcesRequest)
def list_config_resources(
    request: ListConfigResourcesRequest, context: Context
) -> ListConfigResourcesResponse:
    if context.version == 0:
        wanted = {int(ConfigResourceType.CLIENT_METRICS)}
    else:
        wanted = set(request.resource_types or TYPES)
    unknown = wanted - set(TYPES)
    if unknown:
        found = f"resource types {sorted(unknown)} are not known"
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, found)
    return ListConfigResourcesResponse(
        config_resources=[
            ConfigResource(name, kind)
            for kind in TYPES
            if kind in wanted
            for name in _names(kind, context)
        ]
    )


def _names(kind: ConfigResourceType, context: Context) -> Iterator[str]:
    image = context.metadata.image
    match kind:
        case ConfigResourceType.TOPIC:
            yield from image.topics
        case ConfigResourceType.BROKER | ConfigResourceType.BROKER_LOGGER:
            for broker in endpoints_on(image, context.listener):
                if not broker.fenced:
                    yield str(broker.node)
        case ConfigResourceType.GROUP:
            for known, name in image.configs:
                if known == ConfigResourceType.GROUP:
                    yield name
        case _:
            return
