"""Requests and plugins as DescribeRequests and ListPlugins describe them.

A module of its own, because a broker imports messages only when they are asked for.
"""

from typing import Final

from trio_kafka.protocol.messages.k10002_list_plugins import ListedPlugin, PluginSetting
from trio_kafka.protocol.messages.k10010_describe_requests import NOT_YET, RequestLife
from trio_kafka.requests.inspection import InspectedRequest
from trio_kafka.requests.plugins import PluginStatus

LONGEST: Final = 256  # characters of a text that clients choose
LONGEST_ERROR: Final = 1000  # characters of a plugin's error


def make_life(seen: InspectedRequest) -> RequestLife:
    """Return a request as the message has it."""
    stamps, origin, now = seen.stamps, seen.stamps.origin, seen.now
    name, version = origin.software or ("", "")
    over = bool(stamps.sent)
    begun = 0.0 if seen.stage in _NOT_BEGUN else stamps.begun
    end = stamps.sent or now
    return RequestLife(
        plane=seen.plane,
        api_key=stamps.key,
        api_name=seen.api,
        api_version=stamps.version,
        correlation_id=stamps.correlation,
        client_id=seen.client_id[:LONGEST],
        software_name=name[:LONGEST],
        software_version=version[:LONGEST],
        peer=str(origin.peer),
        local=str(origin.local),
        listener=origin.listener,
        security_protocol=origin.protocol,
        number=origin.number,
        stage=seen.stage,
        waits_for=seen.waits_for[:LONGEST],
        age_us=_us(now - stamps.received),
        ended_us=_us(now - stamps.sent) if over else NOT_YET,
        queue_us=_us((begun or end) - stamps.received),
        local_us=_hop(begun, stamps.handled, end),
        remote_us=_hop(stamps.handled, stamps.answered, end),
        response_queue_us=_hop(stamps.answered, stamps.sending, end),
        send_us=_hop(stamps.sending, stamps.sent, end),
        total_us=_us(end - stamps.received),
        throttle_us=_us(stamps.throttled_s),
        plugin_us=_us(stamps.plugin_s),
        request_bytes=stamps.request_bytes,
        response_bytes=stamps.response_bytes,
        error_code=stamps.error,
    )


_NOT_BEGUN: Final = ("queued", "waits for room")


def _hop(begun: float, ended: float, now: float) -> int:
    """Return the time from one stamp to the next, or to now if there is no next one."""
    return _us((ended or now) - begun) if begun else NOT_YET


def _us(seconds: float) -> int:
    return round(seconds * 1e6)


def list_plugin(status: PluginStatus) -> ListedPlugin:
    """Return the status of a plugin as ListPlugins has it."""
    return ListedPlugin(
        name=status.name,
        doc=status.doc,
        state=status.state,
        since_ms=round(status.since * 1000),
        enabled=status.enabled,
        policy=status.policy,
        order=status.order,
        generation=status.generation,
        past=status.past,
        failures=status.failures,
        failed_requests=status.failed_requests,
        error=status.error[:LONGEST_ERROR] or None,
        contributions=list(status.contributions),
        settings=[PluginSetting(name, text) for name, text in status.settings.items()],
    )
