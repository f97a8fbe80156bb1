"""Group and member whose offsets a transaction commits: from a consumer to a producer."""

from trio_kafka.attributes import frozen


@frozen(kw_only=True)
class GroupMetadata:
    """Group and member whose offsets are committed. generation: or the epoch of the member.

    Without a member the offsets are those of a consumer that assigns its partitions itself.
    """

    group_id: str
    generation: int = -1
    member_id: str = ""
    instance_id: str | None = None
