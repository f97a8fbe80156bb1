"""Line of the request log: one request as JSON, in the format of Apache Kafka.

Records and other bytes are shown by their size only. The value of a setting is shown if the setting
is known and no secret. Long arrays are cut. Source: the fields of Kafka's request log (KIP-673), in
milliseconds. `requestSizeBytes`, `responseSizeBytes`, `errorCode` and `pluginTimeMs` are ours; they
replace the response, which is not decoded.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from trio_kafka.config.catalogue import setting_of
from trio_kafka.config.topic import TOPIC_SETTINGS
from trio_kafka.introspect.log import as_json
from trio_kafka.introspect.stamps import Stamps
from trio_kafka.protocol.fields import Field
from trio_kafka.protocol.schema import fields_of
from trio_kafka.protocol.texts import show_uuid, to_camel
from trio_kafka.protocol.versions import covers

HIDDEN: Final = "[hidden]"
MAX_ITEMS: Final = 100  # of an array
MAX_STRUCTS: Final = 1000  # of a request
MAX_CHARACTERS: Final = 1024  # of a string
_WORD: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_BYTES: Final = frozenset({"bytes", "records"})
_UNKNOWN: Final = {"softwareName": "unknown", "softwareVersion": "unknown"}


def request_body(
    message: object, version: int, *, structs: int = MAX_STRUCTS, items: int = MAX_ITEMS
) -> dict[str, object]:
    """Return a message as JSON-ready data with Kafka's names and the fields of a version.

    structs, items: most structs of all, and most items of an array, that are shown.
    """
    return _Body(version, structs, items).convert(message)


def format_line(stamps: Stamps, api: str, body: Mapping[str, object] | None, principal: str) -> str:
    """Return the line of a request that has ended."""
    origin, began = stamps.origin, stamps.begun
    software = origin.software
    line = {
        "isForwarded": False,
        "requestHeader": {
            "requestApiKey": stamps.key,
            "requestApiVersion": stamps.version,
            "correlationId": stamps.correlation,
            "clientId": stamps.client_id[:MAX_CHARACTERS],
            "requestApiKeyName": _WORD.sub("_", api).upper(),
        },
        "request": body,
        "response": None,
        "requestSizeBytes": stamps.request_bytes,
        "responseSizeBytes": stamps.response_bytes,
        "errorCode": stamps.error,
        "connection": f"{origin.local}-{origin.peer}-{origin.number}",
        "totalTimeMs": _ms(stamps.sent - stamps.received),
        "requestQueueTimeMs": _ms(began - stamps.received),
        "localTimeMs": _ms(stamps.handled - began),
        "remoteTimeMs": _ms(stamps.answered - stamps.handled),
        "throttleTimeMs": round(stamps.throttled_s * 1e3),
        "responseQueueTimeMs": _ms(stamps.sending - stamps.answered),
        "sendTimeMs": _ms(stamps.sent - stamps.sending),
        "pluginTimeMs": _ms(stamps.plugin_s),
        "securityProtocol": origin.protocol,
        "principal": principal,
        "listener": origin.listener,
        "clientInformation": _UNKNOWN
        if software is None
        else {"softwareName": software[0], "softwareVersion": software[1]},
    }
    return as_json(line)


class _Body:
    """Conversion of one request to JSON-ready data, in bounded time."""

    def __init__(self, version: int, structs: int, items: int) -> None:
        self._version = version
        self._remaining_structs = structs
        self._items = items

    def convert(self, struct: object) -> dict[str, object]:
        """Return a struct as JSON-ready data."""
        self._remaining_structs -= 1
        shown: dict[str, object] = {}
        for field in fields_of(type(struct)):
            if not covers(field.versions, self._version):
                continue
            value, name = getattr(struct, field.name), to_camel(field.name)
            if field.kind in _BYTES:
                shown[f"{name}SizeInBytes"] = None if value is None else len(value)
            else:
                shown[name] = self._value(field, value)
        if shown.get("value") is not None and "name" in shown and not _is_public(shown["name"]):
            shown["value"] = HIDDEN
        return shown

    def _value(self, field: Field, value: Any) -> Any:
        if value is None:
            return None
        if field.of is not None:
            return self._array(field.of, value)
        if field.struct is not None:
            return self.convert(value)
        if field.kind == "uuid":
            return show_uuid(value)
        if field.kind in _BYTES:
            return len(value)
        return value[:MAX_CHARACTERS] if isinstance(value, str) else value

    def _array(self, item: Field, values: Any) -> list[Any]:
        shown: list[Any] = []
        for value in values:
            if len(shown) >= self._items or self._remaining_structs <= 0:
                shown.append(f"and {len(values) - len(shown)} more")
                break
            shown.append(self._value(item, value))
        return shown


def _is_public(name: object) -> bool:
    """Return whether the value of a setting may be shown: an unknown one may be a secret."""
    text = str(name)
    setting = TOPIC_SETTINGS.get(text) or setting_of(text)
    return setting is not None and not setting.sensitive


def _ms(seconds: float) -> float:
    return round(seconds * 1e3, 3)
