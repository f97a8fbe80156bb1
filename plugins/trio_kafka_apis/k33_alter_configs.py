"""AlterConfigs (key 33): replace all settings of resources.

Waits until the change is durable and this broker has applied it. The settings of one broker are
changed through that broker; those of all brokers (name "") through any broker. Log levels cannot be
changed by this API. Source: KIP-133.

Needs ALTER_CONFIGS on each topic or group; on the cluster for all other types.
"""

from trio_kafka.controller.config_admin import ResourceChanges
from trio_kafka.protocol.messages.k33_alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)
from trio_kafka.requests.api import MANY_PARTITIONS, api
from trio_kafka.requests.config_changes import change_settings, result_rows
from trio_kafka.requests.context import Context


@api(AlterConfigsRequest, largest=MANY_PARTITIONS)
async def alter_configs(request: AlterConfigsRequest, context: Context) -> AlterConfigsResponse:
    changes = (
        ResourceChanges(
            resource=(resource.resource_type, resource.resource_name),
            settings=resource.configs,
        )
        for resource in request.resources
    )
    errors = await context.parked(change_settings, changes, context, request.validate_only)
    return AlterConfigsResponse(
        responses=result_rows(AlterConfigsResourceResponse, request.resources, errors)
    )
