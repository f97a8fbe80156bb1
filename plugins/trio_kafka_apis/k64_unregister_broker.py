"""UnregisterBroker (key 64): remove a broker that has left the cluster for good.

Waits for the controller. A broker that still sends heartbeats is refused with INVALID_REQUEST: it
would go on without its registration. Apache Kafka removes it. Source: KIP-500, KIP-1073.

Needs ALTER on the cluster.
"""

import trio

from trio_kafka.controller.controller import Controller
from trio_kafka.introspect.declared_waits import CONTROLLER, waits_for
from trio_kafka.model import NodeId
from trio_kafka.protocol.messages.k64_unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.security.operations import Operation


@api(UnregisterBrokerRequest)
async def unregister_broker(
    request: UnregisterBrokerRequest, context: Context
) -> UnregisterBrokerResponse:
    context.authorize(Operation.ALTER, cluster=True)
    await context.parked(_unregister, NodeId(request.broker_id), context)
    return UnregisterBrokerResponse(error_message=None)


@waits_for("change", CONTROLLER, "the controller to remove a broker")
async def _unregister(broker: NodeId, context: Context) -> None:
    await context[Controller].unregister_broker(
        broker, deadline=trio.current_time() + context.config.request_timeout_ms / 1000
    )
