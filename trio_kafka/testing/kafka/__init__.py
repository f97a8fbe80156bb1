"""A broker under test: `running_broker()`, and what a test does with it."""

__all__ = [
    "ask",
    "groups",
    "in_loop",
    "life",
    "machines",
    "records",
    "releases",
    "threaded",
    "topics",
    "values",
]
