"""A pure driver: plans are run against functions that answer their requests."""

from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, field

from trio_kafka.clients.admin.calls.call import Plan
from trio_kafka.clients.admin.calls.execution import execution_of
from trio_kafka.peers.backoff import Backoff
from trio_kafka.protocol.messages.k03_metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from trio_kafka.protocol.messages.k10_find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

Answers = Mapping[type[Any], Callable[[Any], Any]]


@define(eq=False)
class Cluster:
    """Brokers 1 and 2. An even partition is led by 1, an odd one by 2; so are groups by length.

    answers: by class of the request: a response, or a ClientError in its place.
    requests: node and request, without lookups. lookups: the others.
    """

    answers: Answers = field(factory=dict)
    retries: int = 3
    rounds: int = 20
    missing: frozenset[str] = frozenset()
    requests: list[tuple[int | None, Any]] = field(factory=list)
    lookups: list[Any] = field(factory=list)
    pauses: list[float] = field(factory=list)

    def run(self, plan: Plan[Any]) -> Any:
        results = None
        while True:
            try:
                call = plan.send(results)
            except StopIteration as end:
                return end.value
            execution = execution_of(call, Backoff(0.1, 1.0), self.retries)
            for _ in range(self.rounds):
                if execution.is_done:
                    break
                for exchange in execution.exchanges(5000):
                    self._carry(exchange)
                self.pauses.append(execution.pause_s(0.5))
            execution.expire(60)
            results = execution.results()

    def _carry(self, exchange: Any) -> None:
        request = exchange.request
        if type(request) in self.answers:
            self.requests.append((exchange.node, request))
            result = self.answers[type(request)](request)
        else:
            self.lookups.append(request)
            result = {MetadataRequest: self.metadata, FindCoordinatorRequest: self.coordinators}[
                type(request)
            ](request)
        if isinstance(result, Exception):
            exchange.failed(result)
        else:
            exchange.answered(result, f"broker {exchange.node}")

    def metadata(self, request: MetadataRequest) -> MetadataResponse:
        return MetadataResponse(
            brokers=[MetadataResponseBroker(node, f"h{node}", 9092) for node in (1, 2)],
            controller_id=2,
            topics=[self._topic(topic.name or "") for topic in request.topics or ()],
        )

    def _topic(self, name: str) -> MetadataResponseTopic:
        if name in self.missing:
            return MetadataResponseTopic(3, name)
        rows = [MetadataResponsePartition(partition_index=n, leader_id=1 + n % 2) for n in range(4)]
        return MetadataResponseTopic(0, name, partitions=rows)

    def coordinators(self, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
        rows = [
            Coordinator(key, 1 + len(key) % 2, f"h{1 + len(key) % 2}", 9092)
            for key in request.coordinator_keys
        ]
        return FindCoordinatorResponse(coordinators=rows)
