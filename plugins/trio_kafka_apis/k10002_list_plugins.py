"""ListPlugins (key 10002, ours): list the plugins of this node, their states and contributions.

Never waits. The values of secrets are hidden.

Needs DESCRIBE_CONFIGS on the cluster, because it shows the settings of plugins.
"""

from typing import Final

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.protocol.messages.k10002_list_plugins import (
    ListPluginsRequest,
    ListPluginsResponse,
)
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.requests.descriptions import list_plugin
from trio_kafka.requests.plugins import Plugins
from trio_kafka.security.operations import Operation

LONGEST: Final = 1000  # characters of a name in an error


@api(ListPluginsRequest)
def list_plugins(request: ListPluginsRequest, context: Context) -> ListPluginsResponse:
    context.authorize(Operation.DESCRIBE_CONFIGS, cluster=True)
    statuses = context[Plugins].statuses()
    if request.name is not None:
        statuses = [status for status in statuses if status.name == request.name]
        if not statuses:
            name = request.name[:LONGEST]
            raise KafkaError(ErrorCode.RESOURCE_NOT_FOUND, f"no plugin {name!r}")
    return ListPluginsResponse(plugins=[list_plugin(status) for status in statuses])
