"""Settings of the plugin `audit`."""

from attrs import frozen

from trio_kafka.config.trio_settings import check_destination
from trio_kafka.plugin import boolean, integer, string, texts


def _check_topic(name: str) -> None:
    if name:
        check_destination(name)


@frozen(kw_only=True)
class AuditSettings:
    """Settings `plugin.audit.<name>`."""

    apis: tuple[str, ...] = texts(
        ("admin",),
        "Names of audited APIs; `admin`: all APIs that change the cluster.",
        not_empty=True,
    )
    sample: int = integer(100, "One in so many Produce and Fetch requests is audited.", low=1)
    topic: str = string(
        "trio-audit",
        "Topic for events; empty: none. Internal topics are rejected.",
        check=_check_topic,
    )
    retention_ms: int = integer(
        7 * 24 * 3600 * 1000, "Retention of the topic, if the plugin creates it.", low=-1
    )
    log: bool = boolean(True, "Also log events, as logger kafka.authorizer.audit.")
    queue: int = integer(10_000, "Most pending events; further ones are dropped.", low=1)
