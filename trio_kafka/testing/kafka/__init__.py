"""A broker under test: `running_broker()`, and what a test does with it."""

__all__ = [
    "ask",
    "broker_warnings",
    "clients",
    "groups",
    "in_loop",
    "jobs",
    "latest_requests",
    "life",
    "machines",
    "records",
    "releases",
    "report",
    "threaded",
    "topics",
    "values",
]
