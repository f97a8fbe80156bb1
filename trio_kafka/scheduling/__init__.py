"""Sharing of the event loop: loop budget, deferred batches, chunked work, yield points."""

__all__ = [
    "chunked_work",
    "deferred_batch",
    "loop_budget",
    "yield_point",
]
