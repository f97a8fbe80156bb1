"""IncrementalAlterConfigs (key 44): change single settings of resources, and leave the others.

Waits until the change is durable and this broker has applied it. The settings of one broker are
changed through that broker; those of all brokers (name "") through any broker. The log levels of
this process change at once, and are lost when it ends. Source: KIP-339, KIP-412.

Needs ALTER_CONFIGS on each topic or group; on the cluster for all other types.
"""

from trio_kafka.controller.config_admin import ResourceChanges
from trio_kafka.protocol.messages.k44_incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from trio_kafka.requests.api import MANY_PARTITIONS, api
from trio_kafka.requests.config_changes import change_settings, result_rows
from trio_kafka.requests.context import Context


@api(IncrementalAlterConfigsRequest, largest=MANY_PARTITIONS)
async def incremental_alter_configs(
    request: IncrementalAlterConfigsRequest, context: Context
) -> IncrementalAlterConfigsResponse:
    changes = (
        ResourceChanges(
            resource=(resource.resource_type, resource.resource_name),
            settings=resource.configs,
            operations=[setting.config_operation for setting in resource.configs],
        )
        for resource in request.resources
    )
    errors = await context.parked(change_settings, changes, context, request.validate_only)
    return IncrementalAlterConfigsResponse(
        responses=result_rows(AlterConfigsResourceResponse, request.resources, errors)
    )
