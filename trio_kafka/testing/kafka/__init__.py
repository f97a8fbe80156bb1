"""A broker under test: `running_broker()`, and what a test does with it."""

__all__ = [
    "broker_warnings",
    "in_loop",
    "jobs",
    "latest_requests",
    "life",
    "machines",
    "records",
    "releases",
    "report",
    "threaded",
    "users",
]
