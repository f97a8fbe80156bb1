"""Groups in which clients have members."""

from collections.abc import Callable, Collection, Sequence
from typing import Final

from trio_kafka.coordinators.groups.classic.group import ClassicGroup
from trio_kafka.coordinators.groups.consumer.group import ConsumerGroup
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.scheduling.chunked_work import Steps

_A_STEP: Final = 256  # groups or members in one step: 0.2 ms


def groups_of_clients(
    machines: Sequence[Groups],
    client_ids: Collection[str],
    may_see: Callable[[str], bool],
    most: int,
) -> Steps[dict[str, tuple[str, ...]]]:
    """Return the groups in which each of these clients has a member, by client id; at most `most`
    for each.
    """
    groups = dict[str, dict[str, None]]()
    number = 0
    for machine in machines:
        for group in tuple(machine.by_id.values()):
            number += 1
            if not number % _A_STEP:
                yield
            if not isinstance(group, ClassicGroup | ConsumerGroup) or group.is_empty:
                continue
            if not may_see(group.group_id):
                continue
            for member in group.members():
                number += 1
                if not number % _A_STEP:
                    yield
                if member.client_id in client_ids:
                    own = groups.setdefault(member.client_id, {})
                    if len(own) < most:
                        own[group.group_id] = None
    return {client_id: tuple(own) for client_id, own in groups.items()}
