"""ReloadPlugin (key 10003, ours): import a plugin again and let the new generation take over.

Waits until the new generation serves, or has failed and the old one goes on. A client that
disconnects meanwhile does not stop it. A reload within a second of the last one waits, and gets
THROTTLING_QUOTA_EXCEEDED if another one came first.

Needs ALTER on the cluster. While no authorizer decides, the client must be on this machine.
"""

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.plugin_host.guard import PluginError, TooSoonError
from trio_kafka.protocol.messages.k10003_reload_plugin import (
    ReloadPluginRequest,
    ReloadPluginResponse,
)
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.requests.plugins import Plugins
from trio_kafka.security.operations import Operation


@api(ReloadPluginRequest)
async def reload_plugin(request: ReloadPluginRequest, context: Context) -> ReloadPluginResponse:
    context.authorize_local(Operation.ALTER)
    serving = {status.name: status.generation for status in context[Plugins].statuses()}
    if request.name not in serving:
        raise KafkaError(ErrorCode.RESOURCE_NOT_FOUND, f"no plugin {request.name[:100]!r}")
    try:
        generation = await context.parked(context[Plugins].reload, request.name)
    except PluginError as error:
        too_soon = isinstance(error, TooSoonError)
        return ReloadPluginResponse(
            error_code=ErrorCode.THROTTLING_QUOTA_EXCEEDED
            if too_soon
            else ErrorCode.INVALID_CONFIG,
            error_message=str(error)[:1000],
            generation=serving[request.name],
        )
    return ReloadPluginResponse(generation=generation)
