"""Settings for limits of connections and request memory, and for the windows of quotas.

A listener may have its own `max.connections` and `max.connection.creation.rate`, under
`listener.name.<name>.`; otherwise it has those of the broker, as in Kafka.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.config.delegation_tokens import DelegationTokenSettings
from trio_kafka.config.setting import CLUSTER, int32, int64, string
from trio_kafka.config.values import MAX_INT

_HOST: Final = re.compile(r"[0-9a-zA-Z\-%._:]+")


@lru_cache(maxsize=4)
def overrides_of(text: str) -> Mapping[str, int]:
    """Return the limits in `HOST:COUNT,…` by host; the last one wins. Raises ValueError.

    A change of a setting parses its value nine times, and 3,500 hosts take 2 ms. So the last
    results are cached.
    """
    limits = {}
    for item in filter(None, map(str.strip, text.split(","))):
        host, _, count = (part.strip() for part in item.rpartition(":"))
        if not (_HOST.fullmatch(host) and count.isascii() and count.isdecimal()):
            raise ValueError(f"{item!r} is not HOST:COUNT")
        if int(count) > MAX_INT:
            raise ValueError(f"{item!r} is too large: want at most {MAX_INT}")
        limits[host] = int(count)
    return MappingProxyType(limits)


def _check_overrides(text: str) -> None:
    overrides_of(text)


@frozen(kw_only=True, init=False, eq=False, repr=False)  # is never made alone
class ConnectionSettings(DelegationTokenSettings):
    """Connection settings of `BrokerConfig`."""

    max_connections: int = int32(
        MAX_INT, "The most connections of this broker.", low=0, update=CLUSTER
    )
    max_connections_per_ip: int = int32(
        MAX_INT, "The most connections from one address.", low=0, update=CLUSTER
    )
    max_connections_per_ip_overrides: str = string(
        "", "Limits for single addresses: HOST:COUNT.", update=CLUSTER, check=_check_overrides
    )
    max_connection_creation_rate: int = int32(
        MAX_INT, "The most new connections in a second.", low=0, update=CLUSTER
    )
    queued_max_request_bytes: int = int64(
        -1, "Largest size of all requests that are being received or handled; -1: unlimited."
    )
    quota_window_num: int = int32(11, "Windows that rates of quotas are measured over.", low=1)
    quota_window_size_seconds: int = int32(1, "Length of each of those windows.", low=1)
    controller_quota_window_num: int = int32(
        11, "Windows that quotas of changes of topics are measured over.", low=1
    )
    controller_quota_window_size_seconds: int = int32(1, "Length of each of those windows.", low=1)
    telemetry_max_bytes: int = int32(
        1048576, "The largest telemetry that a client may send.", low=1
    )
