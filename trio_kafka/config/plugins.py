"""What every plugin has, as `plugin.<name>.<key>`; a plugin declares its other settings itself."""

from collections.abc import Mapping
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.config.setting import Setting, boolean, int32, int64, settings_of, string

POLICIES: Final = ("isolate", "restart", "fatal")


@frozen(kw_only=True)
class HostSettings:
    """The defaults of the first five are what the plugin says of itself, and these where it says
    nothing.
    """

    enabled: bool = boolean(True, "Whether it runs.")
    order: int = int32(100, "It starts before those of higher order, and stops after them.")
    policy: str = string(
        "isolate",
        "When it fails: it alone goes, or it is started again, or the broker stops.",
        choices=POLICIES,
    )
    deadline_ms: int = int64(0, "The most that one request may be in its hands; 0: any.", low=0)
    limit: int = int32(
        0, "Requests in its hands at once, of those that wait; 0: any number.", low=0
    )
    start_ms: int = int64(30000, "The most that its start takes.", low=1)
    drain_ms: int = int64(10000, "The most that it takes to finish and to go.", low=0)
    failures: int = int32(
        100, "It has failed when it fails so many requests in a minute; 0: never.", low=0
    )


HOST_SETTINGS: Final[Mapping[str, Setting]] = settings_of(HostSettings)
