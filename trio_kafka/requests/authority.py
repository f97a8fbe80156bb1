"""Changes that only this machine may make: the guard of APIs of ours and of plugins.

Until an authorizer decides, a change by an API that is not Kafka's needs a peer on the loopback. A
request from within counts by the peer that it is asked for: a plugin that asks for itself is the
broker. A peer that is rejected gets CLUSTER_AUTHORIZATION_FAILED, is counted, and is logged, once a
second at most.
"""

from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.log import get_logger
from trio_kafka.model import Endpoint
from trio_kafka.network.request import Request
from trio_kafka.requests.loopback.endpoint import IN_PROCESS
from trio_kafka.security.loopback import is_loopback
from trio_kafka.security.operations import Operation

_logger: Final = get_logger(__name__)
APART_S: Final = 1.0  # between two log lines


def is_local(peer: Endpoint) -> bool:
    """Whether a request comes from this machine, or from the broker itself."""
    return peer is IN_PROCESS or is_loopback(peer.host)


@define(eq=False)
class LocalChanges:
    """The guard of one broker. rejected: how many requests it has refused."""

    rejected: int = field(default=0, init=False)
    _unlogged: int = field(default=0, init=False)
    _logged_at: float = field(default=float("-inf"), init=False)

    def authorize(self, operation: Operation, request: Request) -> None:
        """Raises KafkaError(CLUSTER_AUTHORIZATION_FAILED) for a peer that is not local."""
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
                principal=str(connection.principal),
                listener=connection.listener.name,
                reason="the peer is not on the loopback",
                requests=self._unlogged,
            )
            self._logged_at, self._unlogged = now, 0
        raise KafkaError(
            ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
            f"{connection.peer.host} is not this machine: ask from the broker's own, by loopback",
        )
