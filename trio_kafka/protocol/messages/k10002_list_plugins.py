"""ListPlugins (key 10002): list the plugins of a node with their states. Ours, not Kafka's."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, boolean, int16, int32, int64, string
from trio_kafka.protocol.schema import request, response, struct


@request(key=10002, versions="0", flexible="0+")
class ListPluginsRequest:
    """Selection: all plugins, or the one of that name."""

    response: ClassVar[type["ListPluginsResponse"]]

    name: str | None = string(nullable="0+", default=None)


@struct
class PluginSetting:
    """Setting of a plugin, with secrets hidden."""

    name: str = string()
    value: str = string()


@struct
class ListedPlugin:
    """One plugin. state: discovered, validated, starting, ready, draining, stopped or failed.

    since_ms: since 1970. generation: 0: never started. past: older generations that have not ended.
    contributions: one word each. failed_requests: requests that raised in its code.
    """

    name: str = string()
    doc: str = string()
    state: str = string()
    since_ms: int = int64()
    enabled: bool = boolean()
    policy: str = string()
    order: int = int32()
    generation: int = int32()
    past: int = int32()
    failures: int = int32()
    error: str | None = string(nullable="0+", default=None)
    contributions: list[str] = array(string)
    settings: list[PluginSetting] = array(PluginSetting)
    failed_requests: int = int64("0+", tag=0, default=0, ignorable=True)


@response(ListPluginsRequest)
class ListPluginsResponse:
    """Plugins in start order."""

    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    plugins: list[ListedPlugin] = array(ListedPlugin)
