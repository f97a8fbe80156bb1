"""ReloadPlugin (key 10003, ours): import a plugin afresh, beside the old one, and let it take over.

Waits until the new generation serves, or has failed: then the old one goes on. Whoever leaves
meanwhile does not stop it. Anybody may ask, as for topics: there are no ACLs yet.
"""

from trio_kafka.plugin import Context, ErrorCode, KafkaError, PluginError, api
from trio_kafka.protocol.messages.k10003_reload_plugin import (
    ReloadPluginRequest,
    ReloadPluginResponse,
)


@api(ReloadPluginRequest)
async def reload_plugin(request: ReloadPluginRequest, context: Context) -> ReloadPluginResponse:
    serving = {one.name: one.generation for one in context.plugins.statuses()}
    if request.name not in serving:
        raise KafkaError(ErrorCode.RESOURCE_NOT_FOUND, f"no plugin {request.name[:100]!r}")
    try:
        generation = await context.parked(context.plugins.reload, request.name)
    except PluginError as error:
        return ReloadPluginResponse(
            error_code=ErrorCode.INVALID_CONFIG,
            error_message=str(error)[:1000],
            generation=serving[request.name],
        )
    return ReloadPluginResponse(generation=generation)
