"""ReloadPlugin (key 10003): replace a plugin's generation by a new one. Ours, not Kafka's."""

from typing import ClassVar

from trio_kafka.protocol.schema import int16, int32, request, response, string


@request(key=10003, versions="0", flexible="0+")
class ReloadPluginRequest:
    """Name of the plugin."""

    response: ClassVar[type["ReloadPluginResponse"]]

    name: str = string()


@response(ReloadPluginRequest)
class ReloadPluginResponse:
    """Generation that serves, even after an error; -1 if there is no such plugin."""

    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    generation: int = int32(default=-1)
