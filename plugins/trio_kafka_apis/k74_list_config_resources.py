"""ListConfigResources (key 74): list the resources that have settings, by type and name.

Never waits. Version 0 lists subscriptions to client metrics only; version 1 adds the type to each
item, and a filter by type, where none means all. An unknown type is UNSUPPORTED_VERSION. Brokers
are those that serve on the listener of the request; groups and subscriptions to client metrics are
those with settings. Source: KIP-1000, KIP-1142.

Needs DESCRIBE_CONFIGS on the cluster.
"""

from collections.abc import Iterator
from typing import Final

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.endpoints import endpoints_on
from trio_kafka.metadata.image import ConfigResourceType
from trio_kafka.protocol.messages.k74_list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.security.operations import Operation

# In the order of the response.
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
    context.authorize(Operation.DESCRIBE_CONFIGS, cluster=True)
    if context.version == 0:
        types = {int(ConfigResourceType.CLIENT_METRICS)}
    else:
        types = set(request.resource_types or TYPES)
    unknown = types - set(TYPES)
    if unknown:
        reason = f"unknown resource types {sorted(unknown)}"
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, reason)
    return ListConfigResourcesResponse(
        config_resources=[
            ConfigResource(name, kind)
            for kind in TYPES
            if kind in types
            for name in _names(kind, context)
        ]
    )


def _names(kind: ConfigResourceType, context: Context) -> Iterator[str]:
    image = context.image
    match kind:
        case ConfigResourceType.TOPIC:
            yield from image.topics
        case ConfigResourceType.BROKER | ConfigResourceType.BROKER_LOGGER:
            for broker in endpoints_on(image, context.listener):
                if not broker.fenced:
                    yield str(broker.node)
        case ConfigResourceType.GROUP | ConfigResourceType.CLIENT_METRICS:
            for resource_type, name in image.configs:
                if resource_type == kind:
                    yield name
        case _:
            return
