"""Values of calls about settings. Names and numbers are Kafka's."""

from enum import IntEnum
from typing import Final

from trio_kafka.attributes import frozen


class ConfigResourceType(IntEnum):
    """Kind of a resource that has settings."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


@frozen
class ConfigResource:
    """A resource. name: topic, group, subscription; node id of a broker, or empty for all."""

    type: ConfigResourceType
    name: str

    def __str__(self) -> str:
        kind = self.type.name.lower().replace("_", " ")
        return f"{kind} {self.name}" if self.name else f"all {kind}s"


class ConfigSource(IntEnum):
    """Origin of a value."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    DYNAMIC_GROUP_CONFIG = 8


class ConfigType(IntEnum):
    """Type of a value."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class OpType(IntEnum):
    """Change of a setting; APPEND and SUBTRACT change lists."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


_TYPES: Final = {int(kind): kind for kind in ConfigResourceType}
_SOURCES: Final = {int(source): source for source in ConfigSource}
_KINDS: Final = {int(kind): kind for kind in ConfigType}


@frozen
class AlterConfigOp:
    """A change of one setting. value: None for DELETE."""

    name: str
    value: str | None = None
    op_type: OpType = OpType.SET


@frozen(kw_only=True)
class ConfigSynonym:
    """A place where a setting may be set, and its value there."""

    name: str
    value: str | None
    source: ConfigSource


@frozen(kw_only=True)
class ConfigEntry:
    """A setting. value: None: there is none, or it is sensitive.

    synonyms: all places with a value, the one that counts first; empty unless asked for.
    documentation: None unless asked for.
    """

    name: str
    value: str | None
    source: ConfigSource
    is_sensitive: bool = False
    is_read_only: bool = False
    synonyms: tuple[ConfigSynonym, ...] = ()
    type: ConfigType = ConfigType.UNKNOWN
    documentation: str | None = None

    @property
    def is_default(self) -> bool:
        return self.source is ConfigSource.DEFAULT_CONFIG


def resource_type_of(number: int) -> ConfigResourceType | None:
    """Return a kind of resource; None for one that is not known here."""
    return _TYPES.get(number)


def source_of(number: int) -> ConfigSource:
    """Return a source; UNKNOWN for one that is not known here."""
    return _SOURCES.get(number, ConfigSource.UNKNOWN)


def type_of(number: int) -> ConfigType:
    """Return a type; UNKNOWN for one that is not known here."""
    return _KINDS.get(number, ConfigType.UNKNOWN)
