"""What may be done to what: the operations of Kafka's authorizer, and sets of them as one number.

Source: AclOperation and AclEntry of Apache Kafka 4.4.0, KIP-430 (a bit for each operation's code).
"""

from collections.abc import Iterable
from enum import IntEnum
from typing import Final


class Operation(IntEnum):
    """An operation (int8 on the wire)."""

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
    """The set as Metadata and the Describe APIs carry it: bit n for the operation with code n."""
    found = 0
    for operation in operations:
        found |= 1 << operation
    return found


# Nobody was asked, which is the default of the fields.
NOT_ASKED: Final = -(2**31)
# All that each of them can be asked for: what everybody may where nothing is guarded.
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
OF_GROUP: Final = bits(
    (
        Operation.READ,
        Operation.DELETE,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    )
)
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
