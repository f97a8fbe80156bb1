"""Operations that an authorizer decides about, and sets of them as bit fields.

Source: AclOperation and AclEntry of Apache Kafka 4.4.0; KIP-430 (bit n stands for operation n).
"""

from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import Final


class Operation(IntEnum):
    """Operation on a resource (int8 in messages and records of ACLs)."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


def bits(operations: Iterable[Operation]) -> int:
    """Return a set of operations as the bit mask of `*_authorized_operations`."""
    mask = 0
    for operation in operations:
        mask |= 1 << operation
    return mask


def operations_in(mask: int) -> Iterator[Operation]:
    """Yield the operations of a bit mask."""
    return (operation for operation in Operation if mask >> operation & 1)


NOT_ASKED: Final = -(2**31)
"""Default of `*_authorized_operations`: the client did not ask for them."""

OF_TOPIC: Final = bits(
    (
        Operation.READ,
        Operation.WRITE,
        Operation.CREATE,
        Operation.DELETE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    )
)
"""Every operation that applies to a topic."""

OF_GROUP: Final = bits(
    (
        Operation.READ,
        Operation.DELETE,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    )
)
"""Every operation that applies to a group."""

OF_CLUSTER: Final = bits(
    (
        Operation.CREATE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.CLUSTER_ACTION,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
        Operation.IDEMPOTENT_WRITE,
    )
)
"""Every operation that applies to the cluster."""
