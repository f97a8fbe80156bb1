"""The producer: machines without I/O (`accumulator`, `sequences`, `buffer_pool`), and a shell."""

__all__ = [
    "accumulator",
    "answers",
    "batch",
    "buffer_pool",
    "partitioner",
    "producer",
    "receipt",
    "record",
    "sender",
    "sequences",
]
