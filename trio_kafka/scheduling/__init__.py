"""Sharing of the event loop: loop budget, deferred batches, work in steps, yield points."""

__all__ = [
    "chunked_work",
    "deferred_batch",
    "loop_budget",
    "yield_point",
]
