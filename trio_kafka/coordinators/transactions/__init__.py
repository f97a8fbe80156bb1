"""Transaction coordinator: the states of transactional ids, stored in `__transaction_state`."""

__all__ = [
    "adding",
    "coordinator",
    "ending",
    "gate",
    "initializing",
    "inspection",
    "marker_writer",
    "open_transactions",
    "parked_requests",
    "settings",
    "states",
    "transaction",
    "transaction_facts",
    "transactions",
]
