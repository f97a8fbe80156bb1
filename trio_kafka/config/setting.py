"""A setting is one field of an attrs class; what Kafka says of it is in the field's metadata.

The setting's name is the field's with `.` for `_`: none of Kafka's broker and topic settings has an
underscore. `settings_of(cls)` gives the table by name, in the order of the fields.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from typing import Any, Final

import attrs
from attrs import NOTHING

from trio_kafka.attributes import frozen
from trio_kafka.config.values import Kind, Value, parse, show

_UNITS: Final = {
    "ms": "ms",
    "millis": "ms",
    "seconds": "s",
    "minutes": "min",
    "hours": "h",
    "bytes": "B",
    "messages": "messages",
}
_METADATA: Final = "setting"
# What a setting has in common with one that is declared `like` it.
_SAME: Final = (
    *("kind", "default", "doc", "low", "high", "also"),
    *("choices", "any_case", "not_empty", "internal", "check", "names"),
)


class Update(Enum):
    """Where a broker setting may be changed while the broker runs."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


class Outside(Enum):
    """What a text names outside the broker.

    A setting that names such a thing can only be set at the start, if it is ours or a plugin's:
    a client could otherwise make the broker write, run or connect to anything. Kafka's dynamic
    settings keep Kafka's update modes.
    """

    FILE = "file"
    DIRECTORY = "directory"
    COMMAND = "command"
    ADDRESS = "address"
    CLASS = "class"


# As tables of settings say it.
CLUSTER: Final = Update.CLUSTER_WIDE
BROKER: Final = Update.PER_BROKER


class ConfigError(ValueError):
    """A setting cannot be used: which, where it was given, and why."""

    def __init__(self, name: str, reason: str, where: str | None = None) -> None:
        super().__init__(f"{where}: {name}: {reason}" if where else f"{name}: {reason}")
        self.name = name
        self.reason = reason
        self.where = where


@frozen(kw_only=True)
class Setting:
    """What is known of one setting.

    default: Kafka's, or ours for a setting of ours; NOTHING where one must be given.
    low, high: bounds of a number, both allowed; `also`: values outside of them that are allowed.
    choices: the texts that are allowed, in a list for each item; `any_case`: in any case.
    synonyms: names whose values are looked up in this order, the setting itself among them.
    server: for a topic setting: broker settings that give its default, each with its factor.
    unit: of the number, from the last word of the name that is one.
    names: what the text names outside the broker. A declaration with `names` and an update mode
        other than read-only is refused.
    """

    name: str
    kind: Kind
    default: Any
    doc: str
    low: float | None = None
    high: float | None = None
    also: tuple[Value, ...] = ()
    choices: tuple[str, ...] = ()
    any_case: bool = False
    not_empty: bool = False
    update: Update = Update.READ_ONLY
    synonyms: tuple[str, ...] = ()
    server: tuple[tuple[str, int], ...] = ()
    internal: bool = False
    check: Callable[[Any], None] | None = None
    names: Outside | None = None

    def __attrs_post_init__(self) -> None:
        if self.names is not None and self.update is not Update.READ_ONLY:
            reason = f"names a {self.names.value}, so it must be read-only: remove `update`"
            raise ConfigError(self.name, reason)

    @property
    def field(self) -> str:
        """The name of the attribute."""
        return self.name.replace(".", "_")

    @property
    def required(self) -> bool:
        return self.default is NOTHING

    @property
    def sensitive(self) -> bool:
        """Its value never leaves the broker."""
        return self.kind is Kind.PASSWORD

    @property
    def unit(self) -> str | None:
        words = self.name.split(".") if self.kind in _NUMBERS else []
        return next((_UNITS[word] for word in reversed(words) if word in _UNITS), None)

    def parse(self, text: str) -> Value:
        """The value of `text`, within the bounds. Raises ConfigError."""
        try:
            value = parse(self.kind, text)
        except ValueError as error:
            raise ConfigError(self.name, str(error)) from None
        self.check_value(value)
        return value

    def check_value(self, value: Value) -> None:
        """Raises ConfigError for a value that is out of bounds."""
        try:
            self._check(value)
        except ValueError as error:
            raise ConfigError(self.name, str(error)) from None

    def show(self, value: Value) -> str | None:
        """The text of a value; None for an unset one and for a secret."""
        return None if self.sensitive else show(self.kind, value)

    def text_of(self, value: Value) -> str | None:
        """The text of a value, of a secret too: for who compares, never for who shows."""
        return show(self.kind, value)

    def _check(self, value: Value) -> None:
        if self.not_empty and not value:
            raise ValueError("must not be empty")
        if self.choices:
            self._check_choices(value if isinstance(value, tuple) else (str(value),))
        if isinstance(value, int | float) and value not in self.also:
            if self.low is not None and value < self.low:
                raise ValueError(f"{value} is too small: want {self.bounds}")
            if self.high is not None and value > self.high:
                raise ValueError(f"{value} is too large: want {self.bounds}")
        if isinstance(value, tuple):
            if "" in value:
                raise ValueError(f"{','.join(value)!r} has an empty item: remove a comma")
            if len(set(value)) < len(value):
                raise ValueError(f"{','.join(value)!r} has an item twice: remove one")
        if self.check is not None:
            self.check(value)

    def _check_choices(self, items: tuple[str, ...]) -> None:
        choices = {one.upper() for one in self.choices} if self.any_case else set(self.choices)
        for item in items:
            if (item.upper() if self.any_case else item) not in choices:
                raise ValueError(f"{item!r} is not one of {', '.join(self.choices)}")

    @property
    def bounds(self) -> str:
        """The bounds of a number, in words."""
        text = f"at least {self.low}" if self.high is None else f"{self.low} to {self.high}"
        return " or ".join([text, *map(str, self.also)])


_NUMBERS: Final = frozenset({Kind.INT, Kind.SHORT, Kind.LONG, Kind.DOUBLE})


def setting(kind: Kind, default: Any, doc: str, **facts: Any) -> Any:
    """A field that is a setting; `facts` are the other attributes of `Setting`."""
    return attrs.field(default=default, metadata={_METADATA: (kind, doc, facts)})


def boolean(default: bool, doc: str, **facts: Any) -> Any:
    return setting(Kind.BOOLEAN, default, doc, **facts)


def string(default: str | None, doc: str, **facts: Any) -> Any:
    return setting(Kind.STRING, default, doc, **facts)


def int16(default: int, doc: str, **facts: Any) -> Any:
    return setting(Kind.SHORT, default, doc, **facts)


def int32(default: Any, doc: str, **facts: Any) -> Any:
    return setting(Kind.INT, default, doc, **facts)


def int64(default: int | None, doc: str, **facts: Any) -> Any:
    return setting(Kind.LONG, default, doc, **facts)


def double(default: float, doc: str, **facts: Any) -> Any:
    return setting(Kind.DOUBLE, default, doc, **facts)


def texts(default: Any, doc: str, **facts: Any) -> Any:
    """A list."""
    return setting(Kind.LIST, default, doc, **facts)


def java_class(default: str | None, doc: str, **facts: Any) -> Any:
    return setting(Kind.CLASS, default, doc, **facts)


def password(default: str | None, doc: str, **facts: Any) -> Any:
    """A secret: its value is never shown."""
    return setting(Kind.PASSWORD, default, doc, **facts)


def like(other: Setting, **differing: Any) -> Any:
    """A field that is a setting of the type, default and bounds of another one, but for what is
    said; where it may be changed, and what else gives its value, the other one does not say.
    """
    same = {name: getattr(other, name) for name in _SAME}
    return setting(**{**same, **differing})


@cache
def settings_of(cls: type) -> Mapping[str, Setting]:
    """As `declared_settings`, kept with the class for good."""
    return declared_settings(cls)


def declared_settings(cls: type) -> Mapping[str, Setting]:
    """The settings of an attrs class by name; fields that are none are left out."""
    found = {}
    for field in attrs.fields(cls):
        if _METADATA in field.metadata:
            kind, doc, facts = field.metadata[_METADATA]
            name = field.name.replace("_", ".")
            found[name] = Setting(name=name, kind=kind, default=field.default, doc=doc, **facts)
    return found
