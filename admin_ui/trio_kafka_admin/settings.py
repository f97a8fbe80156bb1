"""Settings of the plugin `admin`."""

from attrs import frozen

from trio_kafka.config.setting import int32
from trio_kafka.plugin import string


@frozen(kw_only=True)
class AdminSettings:
    """Settings `plugin.admin.<name>`."""

    path: str = string("/admin", "Path at which the admin UI is mounted on the HTTP plane.")
    refresh_ms: int = int32(2000, "Refresh interval of an open page; 0 disables refresh.", low=0)
    max_rows: int = int32(
        500, "Most rows of a page, unless its address sets ?limit=.", low=1, high=5000
    )
    max_requests: int = int32(
        16,
        "Most pages that are rendered at once; further ones are answered 503 with Retry-After.",
        low=2,
        high=1000,
    )
