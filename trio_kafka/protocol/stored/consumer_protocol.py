"""Embedded protocol of classic consumer groups; an int16 version precedes each message."""

from trio_kafka.protocol.schema import array, bytes_, data, int32, string, struct


@struct
class OwnedPartitions:
    topic: str = string(cached=True)
    partitions: list[int] = array(int32)


@data(versions="0-3")
class ConsumerProtocolSubscription:
    """A member's subscribed topics and owned partitions."""

    topics: list[str] = array(string)
    user_data: bytes | None = bytes_(nullable="0+", default=None)
    owned_partitions: list[OwnedPartitions] = array(OwnedPartitions, "1+", ignorable=True)
    generation_id: int = int32("2+", default=-1, ignorable=True)
    rack_id: str | None = string("3+", nullable="3+", default=None, ignorable=True)


@struct
class AssignedPartitions:
    topic: str = string(cached=True)
    partitions: list[int] = array(int32)


@data(versions="0-3")
class ConsumerProtocolAssignment:
    """A member's assigned partitions."""

    assigned_partitions: list[AssignedPartitions] = array(AssignedPartitions)
    user_data: bytes | None = bytes_(nullable="0+", default=None)
