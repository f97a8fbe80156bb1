"""Values of a cluster's metadata, as a client knows them."""

from collections.abc import Mapping, Sequence

from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka.errors import ErrorCode
from trio_kafka.model import NO_NODE, ZERO_TOPIC_ID, Endpoint


@frozen
class BrokerAddress:
    """Address of a broker, and its rack."""

    endpoint: Endpoint
    rack: str | None = None


@frozen
class PartitionLeader:
    """Leader of a partition. node: -1: there is none. epoch: -1: the broker is too old to say.

    replicas: nodes with a copy; none if only a hint has named the leader.
    """

    node: int = NO_NODE
    epoch: int = -1
    replicas: tuple[int, ...] = ()


@frozen(kw_only=True)
class TopicMetadata:
    """A topic. topic_id: zeros if the broker is too old to say. updated: time of the last answer.

    error: NONE, or why there are no partitions; those of an older answer are kept then.
    led: partitions with a leader, for choices that are made for each record.
    """

    name: str
    topic_id: bytes = ZERO_TOPIC_ID
    error: ErrorCode = ErrorCode.NONE
    is_internal: bool = False
    partitions: Mapping[int, PartitionLeader] = field(factory=dict)
    updated: float = float("-inf")
    led: Sequence[int] = field(init=False, eq=False, repr=False)

    @led.default
    def _led(self) -> Sequence[int]:
        return [number for number, leader in self.partitions.items() if leader.node >= 0]

    @property
    def is_usable(self) -> bool:
        """True if the partitions are known."""
        return bool(self.partitions) and not self.error
