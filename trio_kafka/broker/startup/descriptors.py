"""Check at the start that the limit of open files is high enough for a broker.

Partitions need none of their own: their files are closed and opened again as there is room.
"""

from trio_kafka.broker.errors import StartError
from trio_kafka.world.descriptors import SMALLEST, Descriptors


def check_descriptors(descriptors: Descriptors) -> None:
    """Raise StartError if the limit of the process is too low. None: not known, as in tests."""
    limit = descriptors.limit
    if limit is not None and limit < SMALLEST:
        raise StartError(
            f"the limit of open files (ulimit -n) is {limit}, a broker needs at least"
            f" {SMALLEST}: raise the limit"
        )
