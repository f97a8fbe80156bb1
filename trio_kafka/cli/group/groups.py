"""Groups that a command is asked about, and their lag."""

from argparse import ArgumentParser
from collections.abc import Iterable, Sequence

from trio_kafka.attributes import frozen
from trio_kafka.cli import FAILED, CommandFailedError
from trio_kafka.cli.near_names import nearest
from trio_kafka.cli.topics import name_pattern
from trio_kafka.clients.admin.group_values import MemberDescription
from trio_kafka.clients.admin.records import LATEST
from trio_kafka.clients.blocking import BlockingAdmin
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition


@frozen(kw_only=True)
class PartitionLag:
    """Lag of a group in a partition. committed, end, lag: None: not known.

    member: that the partition is assigned to; None: none.
    """

    at: TopicPartition
    committed: int | None
    end: int | None
    member: MemberDescription | None = None

    @property
    def lag(self) -> int | None:
        """Records that are not processed."""
        if self.committed is None or self.end is None:
            return None
        return max(self.end - self.committed, 0)


def declare_groups(parser: ArgumentParser, *, needed: bool = True) -> None:
    """Declare the names of groups."""
    parser.add_argument(
        "group",
        nargs="+" if needed else "*",
        metavar="GROUP",
        help="a name, or a glob such as 'billing-*'",
    )


def find_groups(admin: BlockingAdmin, names: Sequence[str]) -> list[str]:
    """Return the groups of names and globs, sorted; without names all.

    Raises CommandFailedError for a group that does not exist, with the nearest name.
    """
    groups = sorted(admin.list_groups().all())
    if not names:
        return groups
    chosen: set[str] = set()
    for name in names:
        matches = name_pattern(name, regex=False)
        if name in groups:
            chosen.add(name)
        elif matches is None:
            _check_permission(admin, name)
            raise CommandFailedError(
                f"group {name}: there is no such group{nearest(name, groups)}", FAILED
            )
        elif not (matching := list(filter(matches, groups))):
            raise CommandFailedError(f"no group matches {name!r}", FAILED)
        else:
            chosen.update(matching)
    return sorted(chosen)


def _check_permission(admin: BlockingAdmin, name: str) -> None:
    """Raise ClientError if a group is not listed because the client may not see it."""
    error = admin.describe_consumer_groups([name]).errors.get(name)
    if error is not None and error.code is ErrorCode.GROUP_AUTHORIZATION_FAILED:
        raise error.again()


def read_lags(
    admin: BlockingAdmin, group: str, members: Iterable[MemberDescription] = ()
) -> list[PartitionLag]:
    """Return the lag of a group in each partition that it has an offset for or a member reads."""
    owners = {at: member for member in members for at in member.assignment}
    committed = admin.list_consumer_group_offsets({group: None})[group]
    offsets = {at: None if row is None else row.offset for at, row in committed.items()}
    places = sorted(set(offsets) | set(owners))
    ends = admin.list_offsets(dict.fromkeys(places, LATEST))
    return [
        PartitionLag(
            at=at,
            committed=offsets.get(at),
            end=ends[at].offset if at in ends.values_by_item else None,
            member=owners.get(at),
        )
        for at in places
    ]
