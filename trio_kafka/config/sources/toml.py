"""Settings from a TOML file: nested tables are dotted names.

`[log.retention]` with `ms = 5` is `log.retention.ms`, and so is `"log.retention.ms" = 5`. A name
that is a value and begins another one (`config.providers`) is quoted. Booleans are `true` and
`false`, a list is what Kafka writes with commas, and there are neither dates nor lists of tables.
"""

import tomllib
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Final

from trio_kafka.config.properties import SettingText
from trio_kafka.config.setting import ConfigError
from trio_kafka.config.values import Kind, show

_LARGEST_BITS: Final = 64


def parse_toml(text: str, file: str) -> dict[str, SettingText]:
    """Return the settings of a file by name. Raises ConfigError with file and setting."""
    try:
        settings = list(_flat(tomllib.loads(text), ""))
    except (ValueError, RecursionError) as error:  # a number of 5000 digits, nested too deep
        raise ConfigError("TOML", str(error), file) from None
    layer: dict[str, SettingText] = {}
    for name, value in settings:
        if name in layer:
            raise ConfigError(name, "is given twice, in two tables: remove one", file)
        layer[name] = SettingText(_text(value, name, file), file)
    return layer


def _flat(table: Mapping[str, object], prefix: str) -> Iterator[tuple[str, object]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _text(value: object, name: str, file: str) -> str:
    """Return a value as a properties file would have it."""
    if isinstance(value, list):
        items = [_plain(item, name, file) for item in value]
        if any("," in item for item in items):
            raise ConfigError(name, "an item has a comma, which separates items: remove it", file)
        return ",".join(items)
    return _plain(value, name, file)


def _plain(value: object, name: str, file: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and value.bit_length() > _LARGEST_BITS:
        raise ConfigError(name, f"is a number of {value.bit_length()} bits: want 64 at most", file)
    if isinstance(value, bool | int) or (isinstance(value, float) and isfinite(value)):
        return show(Kind.DOUBLE if isinstance(value, float) else Kind.STRING, value) or ""
    kind = type(value).__name__
    raise ConfigError(name, f"want a text, a number, a boolean or a list, not {kind}", file)
