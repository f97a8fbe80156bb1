"""Values of calls about groups. Names are Kafka's, in snake case."""

from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka.model import TopicPartition


@frozen(kw_only=True)
class GroupListing:
    """A group. state, type: empty if the broker is too old to say."""

    group_id: str
    protocol_type: str
    state: str = ""
    type: str = ""


@frozen(kw_only=True)
class MemberDescription:
    """A member of a consumer group.

    group_instance_id: None: it is not static. member_epoch, target_assignment: None in a group of
    the classic protocol. is_classic: it uses the classic protocol; None: the broker does not say.
    """

    member_id: str
    client_id: str
    host: str
    group_instance_id: str | None = None
    assignment: frozenset[TopicPartition] = frozenset()
    target_assignment: frozenset[TopicPartition] | None = None
    member_epoch: int | None = None
    rack_id: str | None = None
    is_classic: bool | None = None


@frozen(kw_only=True)
class ConsumerGroupDescription:
    """A group of consumers. type: "Consumer" (KIP-848) or "Classic".

    group_epoch, target_assignment_epoch: None in a group of the classic protocol.
    authorized_operations: see `TopicDescription`.
    """

    group_id: str
    type: str
    state: str
    partition_assignor: str = ""
    members: tuple[MemberDescription, ...] = ()
    group_epoch: int | None = None
    target_assignment_epoch: int | None = None
    authorized_operations: frozenset[str] | None = None


@frozen(kw_only=True)
class ClassicMember:
    """A member of a classic group. metadata, assignment: bytes of the group's own protocol."""

    member_id: str
    client_id: str
    host: str
    group_instance_id: str | None = None
    metadata: bytes = field(default=b"", repr=False)
    assignment: bytes = field(default=b"", repr=False)


@frozen(kw_only=True)
class ClassicGroupDescription:
    """A group of the classic protocol, of consumers or others, such as Kafka Connect's workers.

    protocol: type of protocol, such as "consumer". protocol_data: the protocol chosen.
    """

    group_id: str
    protocol: str
    protocol_data: str
    state: str
    members: tuple[ClassicMember, ...] = ()
    authorized_operations: frozenset[str] | None = None

    @property
    def is_simple_consumer_group(self) -> bool:
        """True if consumers without members store offsets in it."""
        return not self.protocol
