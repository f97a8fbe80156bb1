"""AlterConfigs (key 33): let resources have these settings, and no others.

Waits until what changed is durable and every part of this broker obeys it. A broker's settings are
changed through that broker; those of all brokers (name "") through any. Levels of loggers are not
changed so. Source: KIP-133.
"""

from trio_kafka.plugin import (
    MANY_PARTITIONS,
    Context,
    ErrorCode,
    KafkaError,
    ResourceChanges,
    api,
    rows_of,
)
from trio_kafka.protocol.messages.k33_alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)


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
    return await context.configs.alter(
        wanted, validate_only=request.validate_only, principal=context.principal
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
