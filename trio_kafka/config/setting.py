"""Declaration of settings: one field of an attrs class each, with Kafka's facts in its metadata.

The setting's name is the field's with `.` for `_`: none of Kafka's broker and topic settings has an
underscore. `settings_of(cls)` returns the table by name, in the order of the fields.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from typing import Any, Final, TypedDict, TypeVar, Unpack, cast, overload

import attrs
from attrs import NOTHING, NothingType

from trio_kafka.attributes import frozen
from trio_kafka.config.values import Kind, Value, parse, show

S = TypeVar("S", bound=str | None)
N = TypeVar("N", bound=int | None)
L = TypeVar("L", bound=tuple[str, ...] | None)

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
REQUIRED: Final = cast("NothingType", NOTHING)
"""Default of a setting that must be set."""
# Attributes that `derived_from` takes over.
_SAME: Final = (
    *("kind", "default", "doc", "low", "high", "also"),
    *("choices", "any_case", "not_empty", "internal", "check", "names"),
)


class Update(Enum):
    """Scope of a change of a broker setting at run time."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


class Outside(Enum):
    """Thing outside the broker that a text names.

    A setting of ours or of a plugin that names such a thing can only be set at the start. A client
    could otherwise make the broker write, run or connect to anything. Kafka's dynamic settings keep
    Kafka's update modes.
    """

    FILE = "file"
    DIRECTORY = "directory"
    COMMAND = "command"
    ADDRESS = "address"
    CLASS = "class"


# Short names for tables of settings.
CLUSTER: Final = Update.CLUSTER_WIDE
BROKER: Final = Update.PER_BROKER


class ConfigError(ValueError):
    """A setting that cannot be used: its name, its place, and the reason."""

    def __init__(self, name: str, reason: str, where: str | None = None) -> None:
        super().__init__(f"{where}: {name}: {reason}" if where else f"{name}: {reason}")
        self.name = name
        self.reason = reason
        self.where = where


@frozen(kw_only=True)
class Setting:
    """Facts about one setting.

    default: Kafka's, or ours for a setting of ours; REQUIRED for a required setting.
    low, high: inclusive bounds of a number; `also`: allowed values outside them.
    choices: allowed texts, of each item in a list; `any_case`: in any case.
    synonyms: names that are looked up in this order, the setting itself among them.
    server: for a topic setting: broker settings that give its default, each with its factor.
    unit: of a number, from the last word of the name that is a unit.
    names: the thing outside the broker that the text names. Requires a read-only update mode.
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
    check: Callable[[object], object] | None = None
    names: Outside | None = None

    def __attrs_post_init__(self) -> None:
        if self.names is not None and self.update is not Update.READ_ONLY:
            reason = f"names a {self.names.value}, so it must be read-only: remove `update`"
            raise ConfigError(self.name, reason)

    @property
    def field(self) -> str:
        """Name of the attribute."""
        return self.name.replace(".", "_")

    @property
    def required(self) -> bool:
        return self.default is NOTHING

    @property
    def sensitive(self) -> bool:
        """True for a secret, whose value never leaves the broker."""
        return self.kind is Kind.PASSWORD

    @property
    def unit(self) -> str | None:
        words = self.name.split(".") if self.kind in _NUMBERS else []
        return next((_UNITS[word] for word in reversed(words) if word in _UNITS), None)

    def parse(self, text: str) -> Value:
        """Return the value of `text`, within the bounds. Raises ConfigError."""
        try:
            value = parse(self.kind, text)
            self._check(value)
        except ValueError as error:
            raise ConfigError(self.name, str(error)) from None
        return value

    def check_value(self, value: Value) -> None:
        """Raise ConfigError for a value out of bounds."""
        try:
            self._check(value)
        except ValueError as error:
            raise ConfigError(self.name, str(error)) from None

    def show(self, value: Value) -> str | None:
        """Return the text of a value; None for an unset value and for a secret."""
        return None if self.sensitive else show(self.kind, value)

    def text_of(self, value: Value) -> str | None:
        """Return the text of a value, also of a secret: to compare, never to show."""
        return show(self.kind, value)

    def default_list(self) -> str | None:
        """Return the list that APPEND and SUBTRACT change where none is set; None: not a list."""
        if self.kind is not Kind.LIST:
            return None
        return "" if self.required else self.show(self.default) or ""

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
        choices = (
            {choice.upper() for choice in self.choices} if self.any_case else set(self.choices)
        )
        for item in items:
            if (item.upper() if self.any_case else item) not in choices:
                raise ValueError(f"{item!r} is not one of {', '.join(self.choices)}")

    @property
    def bounds(self) -> str:
        """Bounds of a number, in words."""
        text = f"at least {self.low}" if self.high is None else f"{self.low} to {self.high}"
        return " or ".join([text, *map(str, self.also)])


_NUMBERS: Final = frozenset({Kind.INT, Kind.SHORT, Kind.LONG, Kind.DOUBLE})


class Facts(TypedDict, total=False):
    """Attributes of a `Setting` that a declaration may state."""

    low: float | None
    high: float | None
    also: tuple[Value, ...]
    choices: tuple[str, ...]
    any_case: bool
    not_empty: bool
    update: Update
    synonyms: tuple[str, ...]
    server: tuple[tuple[str, int], ...]
    internal: bool
    check: Callable[[Any], object] | None
    names: Outside | None


class DifferingFacts(Facts, total=False):
    """Attributes that a setting derived from another one may state."""

    kind: Kind
    default: Value
    doc: str


# Each declaration returns an attrs field, which has the type of its value for a type checker.


def setting(kind: Kind, default: Any, doc: str, **facts: Unpack[Facts]) -> Any:
    """Declare a field that is a setting."""
    is_shown = kind is not Kind.PASSWORD
    return attrs.field(default=default, metadata={_METADATA: (kind, doc, facts)}, repr=is_shown)


def boolean(default: bool, doc: str, **facts: Unpack[Facts]) -> bool:
    field: bool = setting(Kind.BOOLEAN, default, doc, **facts)
    return field


def string(default: S, doc: str, **facts: Unpack[Facts]) -> S:
    field: S = setting(Kind.STRING, default, doc, **facts)
    return field


def int16(default: int, doc: str, **facts: Unpack[Facts]) -> int:
    field: int = setting(Kind.SHORT, default, doc, **facts)
    return field


@overload
def int32(default: NothingType, doc: str, **facts: Unpack[Facts]) -> int: ...


@overload
def int32(default: N, doc: str, **facts: Unpack[Facts]) -> N: ...


def int32(default: int | NothingType | None, doc: str, **facts: Unpack[Facts]) -> int | None:
    field: int | None = setting(Kind.INT, default, doc, **facts)
    return field


def int64(default: N, doc: str, **facts: Unpack[Facts]) -> N:
    field: N = setting(Kind.LONG, default, doc, **facts)
    return field


def double(default: float, doc: str, **facts: Unpack[Facts]) -> float:
    field: float = setting(Kind.DOUBLE, default, doc, **facts)
    return field


@overload
def string_list(default: NothingType, doc: str, **facts: Unpack[Facts]) -> tuple[str, ...]: ...


@overload
def string_list(default: L, doc: str, **facts: Unpack[Facts]) -> L: ...


def string_list(
    default: tuple[str, ...] | NothingType | None, doc: str, **facts: Unpack[Facts]
) -> tuple[str, ...] | None:
    """Declare a list."""
    field: tuple[str, ...] | None = setting(Kind.LIST, default, doc, **facts)
    return field


def password(default: S, doc: str, **facts: Unpack[Facts]) -> S:
    """Declare a secret, whose value is never shown."""
    field: S = setting(Kind.PASSWORD, default, doc, **facts)
    return field


def derived_from(other: Setting, **differing: Unpack[DifferingFacts]) -> object:
    """Declare a setting with type, default and bounds of another one.

    differing: attributes that differ. Update mode and synonyms are not taken over.
    """
    declare: Callable[..., object] = setting
    return declare(**{name: getattr(other, name) for name in _SAME} | {**differing})


@cache
def settings_of(cls: type) -> Mapping[str, Setting]:
    """Return `declared_settings`, cached with the class."""
    return declared_settings(cls)


def declared_settings(cls: type) -> Mapping[str, Setting]:
    """Return the settings of an attrs class by name, without its other fields."""
    settings = {}
    for field in attrs.fields(cls):
        if _METADATA in field.metadata:
            kind, doc, facts = field.metadata[_METADATA]
            name = field.name.replace("_", ".")
            settings[name] = Setting(name=name, kind=kind, default=field.default, doc=doc, **facts)
    return settings
