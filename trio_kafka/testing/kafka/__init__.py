"""A broker under test: `running_broker()`, and what a test does with it."""

__all__ = [
    "ask",
    "clients",
    "groups",
    "in_loop",
    "jobs",
    "life",
    "machines",
    "records",
    "releases",
    "report",
    "threaded",
    "topics",
    "values",
]
