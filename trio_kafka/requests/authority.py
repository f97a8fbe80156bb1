"""Guard of changes by APIs that are not Kafka's, while no authorizer decides about them.

Such a change needs a peer on this machine. A request from within counts by the peer that it is made
for; a plugin that asks for itself is the broker. A rejected request gets
CLUSTER_AUTHORIZATION_FAILED, is counted, and is logged at most once a second. `Context` asks the
authorizer instead, once there is one.
"""

from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.log import get_logger
from trio_kafka.model import Endpoint
from trio_kafka.network.request import Request
from trio_kafka.requests.loopback import IN_PROCESS
from trio_kafka.security.authorizer import is_loopback
from trio_kafka.security.operations import Operation

_logger: Final = get_logger(__name__)
APART_S: Final = 1.0  # least time between two log lines


def is_local(peer: Endpoint) -> bool:
    """Return whether a peer is on this machine, or is the broker itself."""
    return peer is IN_PROCESS or is_loopback(peer.host)


@define(eq=False)
class LocalChanges:
    """Guard of one broker. rejected: number of rejected requests."""

    rejected: int = field(default=0, init=False)
    _unlogged: int = field(default=0, init=False)
    _logged_at: float = field(default=float("-inf"), init=False)

    def authorize(self, operation: Operation, request: Request) -> None:
        """Raise KafkaError(CLUSTER_AUTHORIZATION_FAILED) for a peer that is not local."""
        connection = request.connection
        if is_local(connection.peer):
            return
        self.rejected += 1
        self._unlogged += 1
        now = trio.current_time()
        if now - self._logged_at >= APART_S:
            _logger.warning(
                "change was rejected",
                api=request.route.api.name,
                operation=operation.name,
                peer=str(connection.peer),
                principal=connection.principal.text,
                listener=connection.listener.name,
                reason="the peer is not on the loopback",
                requests=self._unlogged,
            )
            self._logged_at, self._unlogged = now, 0
        raise KafkaError(
            ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
            f"{connection.peer.host} is not this machine: connect from it, by loopback",
        )
