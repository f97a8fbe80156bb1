"""Check at the start that the limit of open files is high enough for the partitions."""

from typing import Final

from trio_kafka.broker.errors import StartError
from trio_kafka.log.descriptors import names_in
from trio_kafka.log.manager import LogManager
from trio_kafka.log.names import parse_directory
from trio_kafka.model import METADATA_TOPIC

FIXED: Final = 64  # listeners, selectors, checkpoints, late imports; an idle broker has 21


async def check_descriptors(limit: int | None, logs: LogManager) -> None:
    """Raise StartError if `limit` descriptors are too few: each partition keeps one file open.

    limit: None if unknown, as for a broker inside another program. Unreadable directories are not
    counted: loading reports them.
    """
    if limit is None:
        return
    partitions = 0
    for directory in logs.online:
        try:
            found = map(parse_directory, await names_in(directory.root))
        except OSError:
            continue
        partitions += sum(
            one is not None and not one[1] and one[0].topic != METADATA_TOPIC for one in found
        )
    wanted = partitions + FIXED
    if limit < wanted:
        raise StartError(
            f"the limit of open files (ulimit -n) is {limit}, {partitions} partitions need at"
            f" least {wanted}: raise the limit"
        )
