"""Current leaders of partitions, in responses to clients that asked another broker (KIP-951)."""

from trio_kafka.protocol.fields import int32, string
from trio_kafka.protocol.schema import struct


@struct
class LeaderIdAndEpoch:
    """Current leader of a partition; -1: not said."""

    leader_id: int = int32(default=-1)
    leader_epoch: int = int32(default=-1)


@struct
class NodeEndpoint:
    """Address of a leader on the client's listener."""

    node_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = string(nullable="0+", default=None)
