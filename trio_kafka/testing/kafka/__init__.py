"""A broker under test: `running_broker()`, and what a test does with it."""

__all__ = [
    "ask",
    "groups",
    "in_loop",
    "life",
    "machines",
    "records",
    "threaded",
    "topics",
    "values",
]
