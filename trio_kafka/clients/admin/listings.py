"""Results of a call to every broker, each of which knows a part."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from trio_kafka.clients.admin.calls.call import Call, Plan, Rejection, perform
from trio_kafka.clients.admin.calls.results import Results
from trio_kafka.clients.admin.calls.targets import BrokerTarget
from trio_kafka.clients.admin.cluster import describe_cluster
from trio_kafka.peers.session import Request

A = TypeVar("A")
T = TypeVar("T")


class Listings(Mapping[str, T]):
    """Things by name, of all brokers that have answered, sorted.

    by_broker: the part of each broker by node id; its `errors` say which brokers have not answered.
    """

    def __init__(self, by_broker: Results[int, Mapping[str, T]]) -> None:
        self.by_broker = by_broker
        parts = by_broker.values_by_item.values()
        self._rows = dict(sorted(row for part in parts for row in part.items()))

    def __getitem__(self, name: str) -> T:
        return self._rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"Listings({self._rows!r}, errors={self.by_broker.errors!r})"

    def all(self) -> dict[str, T]:
        """Return all things. Raises the first error of a broker."""
        self.by_broker.all()
        return dict(self._rows)


def list_everywhere(
    request: Callable[[], Request[A]],
    read: Callable[[A], Mapping[str, T] | Rejection],
) -> Plan[Listings[T]]:
    """Ask every broker of the cluster, and put the answers together."""
    cluster = yield from describe_cluster()

    def answer(response: A, items: Sequence[int]) -> list[tuple[int, Mapping[str, T] | Rejection]]:
        return [(node, read(response)) for node in items]

    call: Call[int, A, Mapping[str, T]] = Call(
        targets={node.node_id: BrokerTarget(node.node_id) for node in cluster.nodes},
        request=lambda _items, _timeout_ms: request(),
        read=answer,
    )
    return Listings((yield from perform(call)))
