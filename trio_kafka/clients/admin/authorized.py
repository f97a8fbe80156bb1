"""Operations that a client may do, by name. Source: KIP-430."""

from trio_kafka.security.operations import NOT_ASKED, operations_in


def operations_of(mask: int) -> frozenset[str] | None:
    """Return the names of the operations of a bit mask; None: they were not asked for."""
    if mask == NOT_ASKED:
        return None
    return frozenset(operation.name for operation in operations_in(mask))
