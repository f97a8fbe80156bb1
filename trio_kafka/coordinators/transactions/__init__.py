"""Transaction coordinator: the states of transactional ids, stored in `__transaction_state`."""

__all__ = [
    "coordinator",
    "gate",
    "marker_writer",
    "settings",
    "states",
    "transaction",
    "transactions",
]
