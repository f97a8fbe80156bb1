"""Field declarations: everything that one line of a message's table can state.

A helper such as `int32("3+", default=-1)` returns a `Field` at run time. Its annotated return type
is that of the field's value, so that `producer_id: int = int32(...)` type-checks and
`dataclass_transform` sees a default. Defaults are Kafka's: 0, "", False, the zero uuid, an empty
list, an empty struct, and None for `records`.
Source: the schema of Kafka's message definitions; KIP-482 (tagged fields), KIP-893 (nullable
structs).
"""

from collections.abc import Callable
from typing import Any, Final, Generic, Literal, TypedDict, TypeVar, Unpack, cast

from trio_kafka.attributes import frozen
from trio_kafka.protocol.versions import ALWAYS, NEVER, Range, parse_versions

T = TypeVar("T")
Kind = Literal[
    "int8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "float64",
    "boolean",
    "uuid",
    "string",
    "bytes",
    "records",
    "array",
    "struct",
]

# Fixed-size kinds: struct code and size in bytes.
FIXED: Final[dict[str, tuple[str, int]]] = {
    "int8": ("b", 1),
    "int16": ("h", 2),
    "uint16": ("H", 2),
    "int32": ("i", 4),
    "uint32": ("I", 4),
    "int64": ("q", 8),
    "float64": ("d", 8),
    "boolean": ("?", 1),
    "uuid": ("16s", 16),
}
ZERO_UUID: Final = bytes(16)
# As a default: the empty value of the kind. An array or struct makes its own.
_EMPTY: Final[Any] = ...


@frozen(kw_only=True)
class Field:
    """One field of a message or struct.

    name: set by the class that declares the field. of: an array's element. struct: a struct's
    class.
    default: None for null; ignored for arrays and structs, which begin empty, unless it is None.
    columns: whether an array may be given as `Columns`.
    """

    name: str = ""
    kind: Kind
    versions: Range = ALWAYS
    nullable: Range = NEVER
    tag: int | None = None
    tagged: Range = NEVER
    default: object = None
    ignorable: bool = False
    flexible: Range = ALWAYS
    cached: bool = False
    columns: bool = False
    of: "Field | None" = None
    struct: "type[object] | None" = None

    @property
    def item(self) -> "Field":
        """Element of an array; TypeError for other kinds."""
        if self.of is None:
            raise TypeError(f"{self.name} is not an array")
        return self.of

    @property
    def part(self) -> "type[Any]":
        """Class of a struct; TypeError for other kinds."""
        if self.struct is None:
            raise TypeError(f"{self.name} is not a struct")
        return self.struct


class _FieldAttributes(TypedDict, total=False):
    """Attributes of Field that need no conversion."""

    ignorable: bool
    flexible: Range
    cached: bool
    columns: bool
    of: Field
    struct: type[object]


def _field(
    kind: Kind,
    versions: str,
    default: object,
    *,
    nullable: str = "none",
    tag: int | None = None,
    tagged: str | None = None,
    **others: Unpack[_FieldAttributes],
) -> object:
    """Make a field. others: see `_FieldAttributes`."""
    if tagged is not None and tag is None:
        raise TypeError("tagged versions without a tag")
    if kind == "records" and tag is not None:
        raise TypeError("records cannot be tagged: they are passed on without being joined")
    return Field(
        kind=kind,
        versions=parse_versions(versions),
        nullable=parse_versions(nullable),
        tag=tag,
        tagged=NEVER if tag is None else parse_versions(versions if tagged is None else tagged),
        default=default,
        **others,
    )


class FieldOptions(TypedDict, total=False):
    """Options of fields of every kind; see `Field`. Versions are texts such as "3+"."""

    tag: int
    tagged: str
    ignorable: bool


class NullableOptions(FieldOptions, total=False):
    """Options of fields that may be null in some versions."""

    nullable: str


@frozen
class Fixed(Generic[T]):
    """Declaration helper of one fixed-size kind; call it to declare a field."""

    kind: Kind
    empty: T

    def __call__(
        self, versions: str = "0+", *, default: T = _EMPTY, **options: Unpack[FieldOptions]
    ) -> T:
        value = self.empty if default is _EMPTY else default
        return cast("T", _field(self.kind, versions, value, **options))


int8: Final = Fixed("int8", 0)
int16: Final = Fixed("int16", 0)
uint16: Final = Fixed("uint16", 0)
int32: Final = Fixed("int32", 0)
uint32: Final = Fixed("uint32", 0)
int64: Final = Fixed("int64", 0)
float64: Final = Fixed("float64", 0.0)
boolean: Final = Fixed("boolean", False)
uuid: Final = Fixed("uuid", ZERO_UUID)


def string(
    versions: str = "0+",
    *,
    default: str | None = "",
    flexible: str = "0+",
    cached: bool = False,
    **options: Unpack[NullableOptions],
) -> str:
    """Declare a string of up to 32767 bytes of UTF-8.

    cached: keep encoded values, for fields with few distinct values such as topic names.
    flexible: versions in which a flexible message writes it compactly ("none": never).
    """
    compact = parse_versions(flexible)
    declared = _field("string", versions, default, flexible=compact, cached=cached, **options)
    return cast("str", declared)


def bytes_(
    versions: str = "0+", *, default: bytes | None = b"", **options: Unpack[NullableOptions]
) -> bytes:
    """Declare a bytes field; decoding copies it out of the frame."""
    return cast("bytes", _field("bytes", versions, default, **options))


def records(versions: str = "0+", *, nullable: str = "none", ignorable: bool = False) -> Any:
    """Declare record batches: decoded to a view of the frame, passed to `write` unchanged.

    Annotate as `memoryview | None` where it is read, `Sized | None` where a file range may be
    written.
    """
    return _field("records", versions, None, nullable=nullable, ignorable=ignorable)


def array(
    of: Callable[..., T],
    versions: str = "0+",
    *,
    default: None = _EMPTY,
    columns: bool = False,
    **options: Unpack[NullableOptions],
) -> list[T]:
    """Declare a list of structs, `array(FetchTopic)`, or of other values, `array(int32)`.

    columns: encode `Columns` too; the structs have only int64 fields, and no tagged ones.
    """
    element = (
        _field("struct", "0+", None, struct=of) if isinstance(of, type) else cast("Field", of())
    )
    return cast(
        "list[T]",
        _field(
            "array",
            versions,
            default,
            of=cast("Field", element),
            columns=columns,
            **options,
        ),
    )


def struct_(
    of: type[T],
    versions: str = "0+",
    *,
    default: None = _EMPTY,
    **options: Unpack[NullableOptions],
) -> T:
    """Declare a nested struct."""
    return cast("T", _field("struct", versions, default, struct=of, **options))
