"""Lookup of the brokers that items go to: leaders, coordinators, the controller, addresses.

Source: the lookup strategies of KIP-396 and of KafkaAdminClient of Apache Kafka 4.4.0.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, cast

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.clients.admin.calls.call import Rejection
from trio_kafka.clients.admin.calls.targets import (
    CONTROLLER,
    AnyBroker,
    BrokerTarget,
    Controller,
    CoordinatorTarget,
    LeaderTarget,
    Target,
)
from trio_kafka.errors import ErrorCode
from trio_kafka.model import Endpoint, TopicPartition
from trio_kafka.protocol.messages.k03_metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from trio_kafka.protocol.messages.k10_find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

_SINGLE: Final = 3  # the newest version of FindCoordinator with one key
_UNKNOWN: Final = Rejection(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
_LEADERLESS: Final = Rejection(ErrorCode.LEADER_NOT_AVAILABLE, "the partition has no leader")
Failures = Mapping[Target, Rejection]


@frozen(kw_only=True)
class LookupRequest:
    """A request to any broker. targets: those that it is about. read: returns those that failed."""

    request: object
    targets: Collection[Target]
    read: Callable[[object], Failures]
    at_most: int | None = None


@define(eq=False)
class Lookup:
    """Nodes of targets, and addresses of nodes, as far as responses have named them.

    has_batches: brokers look up several coordinators in one request.
    """

    addresses: dict[int, Endpoint] = field(factory=dict, init=False)
    has_batches: bool = field(default=True, init=False)
    _nodes: dict[Target, int | None] = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        self._nodes[CONTROLLER] = None  # any broker, until one says that it does not forward

    def is_known(self, target: Target) -> bool:
        """Return whether a request for the target can be sent."""
        match target:
            case AnyBroker():
                return True
            case BrokerTarget(node):
                return node in self.addresses
            case _:
                return target in self._nodes

    def node(self, target: Target) -> int | None:
        """Return the node of a known target; None: any broker will do."""
        if isinstance(target, BrokerTarget):
            return target.node
        return self._nodes.get(target)

    def forget(self, target: Target) -> None:
        """Look the target up again: its broker has moved, or cannot be reached."""
        self._nodes.pop(target, None)
        if isinstance(target, BrokerTarget):
            self.addresses.pop(target.node, None)

    def requests(self, targets: Iterable[Target]) -> list[LookupRequest]:
        """Return the requests for targets that are not known."""
        by_metadata: list[Target] = []
        by_kind: dict[int, list[CoordinatorTarget]] = {}
        for target in targets:
            if isinstance(target, CoordinatorTarget):
                by_kind.setdefault(target.kind, []).append(target)
            else:
                by_metadata.append(target)
        requests = [self._metadata(by_metadata)] if by_metadata else []
        for kind, coordinators in by_kind.items():
            requests += self._coordinators(kind, coordinators)
        return requests

    def _metadata(self, targets: list[Target]) -> LookupRequest:
        names = dict.fromkeys(
            target.partition.topic for target in targets if isinstance(target, LeaderTarget)
        )
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name=name) for name in names],
            allow_auto_topic_creation=False,
        )

        def read(response: object) -> Failures:
            return self._read_metadata(cast("MetadataResponse", response), targets)

        return LookupRequest(request=request, targets=targets, read=read)

    def _read_metadata(self, response: MetadataResponse, targets: list[Target]) -> Failures:
        self.addresses.update(
            (row.node_id, Endpoint(row.host, row.port)) for row in response.brokers
        )
        leaders: dict[TopicPartition, int] = {}
        errors: dict[str, Rejection] = {}
        for topic in response.topics:
            name = topic.name or ""
            if topic.error_code:
                errors[name] = Rejection(topic.error_code)
            for row in topic.partitions:
                leaders[TopicPartition(name, row.partition_index)] = row.leader_id
        failures: dict[Target, Rejection] = {}
        for target in targets:
            match target:
                case LeaderTarget(partition):
                    node = leaders.get(partition)
                    if node is None:
                        failures[target] = errors.get(partition.topic, _UNKNOWN)
                    elif node not in self.addresses:
                        failures[target] = _LEADERLESS
                    else:
                        self._nodes[target] = node
                case Controller():
                    if response.controller_id in self.addresses:
                        self._nodes[target] = response.controller_id
                    else:
                        failures[target] = Rejection(ErrorCode.NOT_CONTROLLER, "no controller")
                case BrokerTarget(node) if node not in self.addresses:
                    reason = f"broker {node} is not in the cluster"
                    failures[target] = Rejection(ErrorCode.BROKER_NOT_AVAILABLE, reason)
        return failures

    def _coordinators(self, kind: int, targets: list[CoordinatorTarget]) -> Iterable[LookupRequest]:
        if self.has_batches:
            request = FindCoordinatorRequest(
                key_type=kind, coordinator_keys=[target.key for target in targets]
            )
            yield self._coordinator_request(request, targets, None)
            return
        for target in targets:
            request = FindCoordinatorRequest(key=target.key, key_type=kind)
            yield self._coordinator_request(request, [target], _SINGLE)

    def _coordinator_request(
        self,
        request: FindCoordinatorRequest,
        targets: list[CoordinatorTarget],
        at_most: int | None,
    ) -> LookupRequest:
        def read(response: object) -> Failures:
            return self._read_coordinators(cast("FindCoordinatorResponse", response), targets)

        return LookupRequest(request=request, targets=targets, read=read, at_most=at_most)

    def _read_coordinators(
        self, response: FindCoordinatorResponse, targets: list[CoordinatorTarget]
    ) -> Failures:
        rows = {
            row.key: (row.node_id, Endpoint(row.host, row.port), row.error_code, row.error_message)
            for row in response.coordinators
        }
        if not rows:  # a version with one key
            address = Endpoint(response.host, response.port)
            row = (response.node_id, address, response.error_code, response.error_message)
            rows = {target.key: row for target in targets[:1]}
        failures: dict[Target, Rejection] = {}
        for target in targets:
            if target.key not in rows:
                failures[target] = Rejection(ErrorCode.COORDINATOR_NOT_AVAILABLE, "no answer")
                continue
            node, address, code, message = rows[target.key]
            if code:
                failures[target] = Rejection(code, message)
                continue
            self._nodes[target] = node
            self.addresses[node] = address
        return failures
