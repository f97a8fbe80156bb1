"""A group is deleted, with its offsets: only where nobody is in it."""

from typing import Final

from trio_kafka.coordinators.effects import Effects, Ticket
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.introspect.log import get_logger

_logger: Final = get_logger(__name__)


def delete_group(groups: Groups, group_id: str, ticket: Ticket, now_ms: int) -> Effects:
    """Answer: None. Tombstones of many offsets may become several batches: whoever asks again after
    a crash deletes the rest.

    Raises KafkaError: GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP.
    """
    del now_ms
    group = groups.group(group_id)
    group.validate_delete()
    effects = Effects(atomic=False)
    effects.records += groups.offsets.tombstones(group_id)
    _logger.info("group is deleted", group=group_id, offsets=len(effects.records))
    effects.records += group.tombstones()
    return effects.answer(ticket, None)
