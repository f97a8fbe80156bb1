"""Transaction coordinator: the states of transactional ids, stored in `__transaction_state`."""

__all__ = [
    "adding",
    "coordinator",
    "ending",
    "gate",
    "initializing",
    "inspection",
    "marker_writer",
    "settings",
    "states",
    "transaction",
    "transactions",
]
