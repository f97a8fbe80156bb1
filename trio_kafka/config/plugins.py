"""Settings that every plugin has, as `plugin.<name>.<key>`, besides those that it declares."""

from collections.abc import Mapping
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.config.authorizer import check_optional_principal
from trio_kafka.config.setting import Setting, boolean, int32, int64, settings_of, string

PRINCIPAL: Final = "principal"
"""Setting that a plugin may declare itself too, with a default and a meaning of its own."""
POLICIES: Final = ("isolate", "restart", "fatal")


@frozen(kw_only=True)
class HostSettings:
    """Common settings of plugins.

    A plugin may declare its own defaults for the first five; these hold otherwise.
    """

    enabled: bool = boolean(True, "Runs the plugin.")
    order: int = int32(100, "Position in the order of starts; plugins stop in the reverse order.")
    policy: str = string(
        "isolate",
        "Reaction to a failure: stop the plugin, start it again, or stop the broker.",
        choices=POLICIES,
    )
    deadline_ms: int = int64(0, "Longest time for one request in the plugin; 0: unlimited.", low=0)
    limit: int = int32(0, "Largest number of waiting requests in the plugin; 0: unlimited.", low=0)
    start_ms: int = int64(30000, "Longest time for the plugin's start.", low=1)
    drain_ms: int = int64(10000, "Longest time for the plugin's stop.", low=0)
    principal: str = string(
        "",
        "Principal of the plugin's own requests, as type:name; empty: that of the broker.",
        check=check_optional_principal,
    )
    failures: int = int32(
        100, "Failed requests in a minute after which the plugin has failed; 0: never.", low=0
    )


HOST_SETTINGS: Final[Mapping[str, Setting]] = settings_of(HostSettings)
