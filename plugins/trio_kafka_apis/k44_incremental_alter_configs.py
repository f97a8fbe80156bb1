"""IncrementalAlterConfigs (key 44): change single settings of resources, and leave the others.

Waits until the change is durable and this broker has applied it. The settings of one broker are
changed through that broker; those of all brokers (name "") through any broker. The log levels of
this process change at once, and are lost when it ends. Source: KIP-339, KIP-412.

Needs ALTER_CONFIGS on each topic or group; on the cluster for all other types.
"""

from functools import partial

from trio_kafka.controller.config_admin import ConfigAdmin, ResourceChanges
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.protocol.messages.k44_incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from trio_kafka.requests.api import MANY_PARTITIONS, api
from trio_kafka.requests.context import Context
from trio_kafka.requests.lazy_arrays import rows_of
from trio_kafka.security.operations import Operation


@api(IncrementalAlterConfigsRequest, largest=MANY_PARTITIONS)
async def incremental_alter_configs(
    request: IncrementalAlterConfigsRequest, context: Context
) -> IncrementalAlterConfigsResponse:
    errors = await context.parked(_alter, request, context)
    return IncrementalAlterConfigsResponse(
        responses=rows_of(
            range(len(errors)), lambda number: _result(request.resources[number], errors[number])
        )
    )


async def _alter(
    request: IncrementalAlterConfigsRequest, context: Context
) -> list[KafkaError | None]:
    wanted = (
        ResourceChanges(
            resource.resource_type,
            resource.resource_name,
            resource.configs,
            [setting.config_operation for setting in resource.configs],
        )
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
