"""AlterConfigs (key 33): replace all settings of resources.

Waits until the change is durable and this broker has applied it. The settings of one broker are
changed through that broker; those of all brokers (name "") through any broker. Log levels cannot be
changed by this API. Source: KIP-133.

Needs ALTER_CONFIGS on each topic or group; on the cluster for all other types.
"""

from functools import partial

from trio_kafka.controller.config_admin import ConfigAdmin, ResourceChanges
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.protocol.messages.k33_alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)
from trio_kafka.requests.api import MANY_PARTITIONS, api
from trio_kafka.requests.context import Context
from trio_kafka.requests.lazy_arrays import rows_of
from trio_kafka.security.operations import Operation


@api(AlterConfigsRequest, largest=MANY_PARTITIONS)
async def alter_configs(request: AlterConfigsRequest, context: Context) -> AlterConfigsResponse:
    errors = await context.parked(_alter, request, context)
    return AlterConfigsResponse(
        responses=rows_of(
            range(len(errors)), lambda number: _result(request.resources[number], errors[number])
        )
    )


async def _alter(request: AlterConfigsRequest, context: Context) -> list[KafkaError | None]:
    wanted = (
        ResourceChanges(resource.resource_type, resource.resource_name, resource.configs)
        for resource in request.resources
    )
    return await context[ConfigAdmin].alter(
        wanted,
        validate_only=request.validate_only,
        principal=context.principal,
        authorize=partial(context.authorize_settings, Operation.ALTER_CONFIGS),
    )


def _result(
    resource: AlterConfigsResource, error: KafkaError | None
) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(
        error_code=ErrorCode.NONE if error is None else error.code,
        error_message=None if error is None else error.message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
