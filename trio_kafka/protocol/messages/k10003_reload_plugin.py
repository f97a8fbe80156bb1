"""ReloadPlugin (key 10003): a new generation of a plugin takes the place of the old one. Ours, not
Kafka's.
"""

from trio_kafka.protocol.schema import int16, int32, request, response, string


@request(key=10003, versions="0", flexible="0+")
class ReloadPluginRequest:
    """Which one."""

    name: str = string()


@response(ReloadPluginRequest)
class ReloadPluginResponse:
    """generation: the one that serves, also after an error: -1 where there is no such plugin."""

    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    generation: int = int32(default=-1)
