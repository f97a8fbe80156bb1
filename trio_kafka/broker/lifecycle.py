"""Lifecycle of this broker as its controller sees it: registered, unfenced, shut down.

The controller runs in the same process and cannot lose contact, so heartbeats are sent only to
request something. Source: KIP-631, KIP-841.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NoReturn

import attrs
import trio

from trio_kafka.broker.errors import StartError
from trio_kafka.controller.brokers import Heartbeat, NewBroker
from trio_kafka.controller.controller import Controller
from trio_kafka.errors import ErrorCode, InvariantError, KafkaError
from trio_kafka.introspect.declared_waits import waits_for_work
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.metadata.features import SUPPORTED
from trio_kafka.metadata.image import ListenerEndpoint
from trio_kafka.metadata.publisher import MetadataCache
from trio_kafka.model import NodeId, TopicId

_TRIES: Final = 10
_AGAIN_S: Final = 1.0
_logger: Final = get_logger(__name__)
_ASSIGN_S: Final = 30.0  # until the report of directories is tried again
_GONE: Final = {
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
}


class Lifecycle:
    """Registration of this broker. `epoch` is -1 until it is registered.

    state: starting, registered, unfenced, running, shutting down, fenced.
    serving: set when clients are accepted. leaving: set when the stop begins.
    failure: why the broker stops by itself; empty if it does not.
    """

    def __init__(
        self,
        node_id: NodeId,
        incarnation_id: bytes,
        controller: Controller,
        *,
        metadata: MetadataCache,
        node: Node,
    ) -> None:
        self.epoch = -1
        self.state = "starting"
        self.failure = ""
        self.serving = trio.Event()
        self.leaving = trio.Event()
        self.registered = trio.Event()
        self._cordoned: tuple[bytes, ...] = ()
        self._cordoned_bell = trio.Event()
        self._node_id = node_id
        self._incarnation_id = incarnation_id
        self._controller = controller
        self._metadata = metadata
        node.add("lifecycle-manager", "part", self._figures)

    async def register(
        self,
        endpoints: Sequence[ListenerEndpoint],
        log_dirs: Sequence[bytes],
        rack: str | None,
        *,
        timeout_s: float,
    ) -> None:
        """Register the broker. Raises KafkaError; StartError if the controller takes too long."""
        broker = NewBroker(
            id=self._node_id,
            incarnation_id=self._incarnation_id,
            cluster_id=self._metadata.image.cluster_id,
            endpoints=tuple(endpoints),
            features=SUPPORTED,
            rack=rack,
            log_dirs=tuple(log_dirs),
            cordoned_log_dirs=self._cordoned,
        )
        deadline = trio.current_time() + timeout_s
        try:
            self.epoch = await self._controller.register_broker(broker, deadline=deadline)
        except KafkaError as error:
            if error.code is not ErrorCode.REQUEST_TIMED_OUT:
                raise
            raise StartError(
                f"the controller did not register this broker within {timeout_s:g} s"
                " (initial.broker.registration.timeout.ms)"
            ) from error
        self.state = "registered"
        self.registered.set()

    async def unfence(self) -> None:
        """Ask to be unfenced; the registration is already published, so the broker is caught up."""
        answer = await self._controller.heartbeat(self._beat())
        if answer.fenced:
            raise InvariantError(f"broker {self._node_id} is fenced after it caught up")
        self.state = "unfenced"

    def cordon(self, log_dirs: Sequence[bytes]) -> None:
        """Give these directories no new replicas. `run` reports them to the controller."""
        if set(log_dirs) != set(self._cordoned):
            self._cordoned = tuple(log_dirs)
            self._cordoned_bell.set()

    @waits_for_work("its next heartbeat to the controller")
    async def run(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> NoReturn:
        """Report changes of the cordoned directories, until cancelled."""
        task_status.started()
        while True:
            await self._cordoned_bell.wait()
            self._cordoned_bell = trio.Event()
            try:
                beat = attrs.evolve(self._beat(), cordoned_log_dirs=self._cordoned)
                await self._controller.heartbeat(beat)
            except KafkaError as error:
                _logger.warning("cordoned directories not reported", reason=str(error))
                await trio.sleep(_AGAIN_S)
                self._cordoned_bell.set()

    def serve(self) -> None:
        """Record that clients are accepted from now on."""
        self.state = "running"
        self.serving.set()

    def leave(self) -> None:
        """Record that the stop has begun: new clients should go elsewhere."""
        self.state = "shutting down"
        self.leaving.set()

    async def shut_down(self, deadline: float) -> bool:
        """Request a controlled shutdown; return True if all leaders moved before `deadline`."""
        self.leave()
        for _ in range(_TRIES):
            answer = await self._controller.heartbeat(
                self._beat(want_shutdown=True), deadline=deadline
            )
            if answer.should_shut_down:
                self.state = "fenced"
                return True
            if trio.current_time() >= deadline:
                break
        return False

    async def allocate_producer_ids(self) -> tuple[int, int]:
        """Allocate a block of producer ids: first id and length. Raises KafkaError."""
        block = await self._controller.allocate_producer_ids(self._node_id, self.epoch)
        return block.first, block.length

    async def assign_directories(self, directories: Mapping[tuple[TopicId, int], bytes]) -> None:
        """Report the directories of replicas, once this broker is registered.

        Replicas that are gone are passed over. Raises KafkaError.
        """
        await self.registered.wait()
        deadline = trio.current_time() + _ASSIGN_S
        errors = await self._controller.assign_directories(
            self._node_id, self.epoch, directories, deadline=deadline
        )
        for error in errors.values():
            if error is not None and error.code not in _GONE:
                raise error

    def _beat(self, *, want_shutdown: bool = False) -> Heartbeat:
        return Heartbeat(
            broker_id=self._node_id,
            epoch=self.epoch,
            metadata_offset=self._metadata.image.offset,
            want_shutdown=want_shutdown,
        )

    def _figures(self) -> Figures:
        return {"state": self.state, "epoch": self.epoch, "failure": self.failure or None}
