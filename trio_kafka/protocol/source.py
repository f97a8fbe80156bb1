"""Source code of one codec while it is generated.

Holds the lines, the message field that each line handles, and the objects behind its names. When a
generated line fails, its field goes into the error; this costs nothing until then.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from struct import Struct
from typing import NamedTuple

from attrs import Factory

from trio_kafka.attributes import define
from trio_kafka.protocol.fields import FIXED, Field
from trio_kafka.protocol.schema import fields_of
from trio_kafka.protocol.versions import covers


class Neighbour(NamedTuple):
    """Fixed-size value that shares one Struct call with adjacent values."""

    code: str
    expression: str
    path: str


@define
class Source:
    """Body of one generated function."""

    version: int
    flexible: bool
    lines: list[str] = Factory(list)
    paths: list[str] = Factory(list)
    names: dict[str, object] = Factory(dict)
    _depth: int = 0
    _place: list[str] = Factory(list)
    _variables: int = 0
    _objects: dict[int, str] = Factory(dict)

    def add(self, line: str, path: str | None = None) -> None:
        """Append a line for the current field, or for the field `path`."""
        self.lines.append(" " * self._depth + line)
        self.paths.append(self.path if path is None else path)

    @contextmanager
    def block(self, head: str, path: str | None = None) -> Iterator[None]:
        """Open a block under the line `head`; lines added within are indented."""
        self.add(head, path)
        self._depth += 1
        yield
        self._depth -= 1

    @contextmanager
    def inside(self, name: str) -> Iterator[None]:
        """Enter the field `name`; lines added within are attributed to it."""
        self._place.append(name)
        yield
        self._place.pop()

    @property
    def path(self) -> str:
        """Dotted path of the current field, starting at the message."""
        return ".".join(self._place)

    def one_of(self, fields: Iterable[Field]) -> str:
        """Return the current path with the fields that one line handles together."""
        names = ", ".join(field.name for field in fields)
        return f"{self.path or 'the message'} (one of {names})"

    def variable(self, prefix: str) -> str:
        """Return an unused variable name."""
        self._variables += 1
        return f"{prefix}{self._variables}"

    def constant(self, value: object, prefix: str) -> str:
        """Return the name under which the generated function refers to an object."""
        name = self._objects.get(id(value))
        if name is None:
            name = self.variable(prefix)
            self._objects[id(value)] = name
            self.names[name] = value
        return name

    def packing(self, codes: str, method: str) -> str:
        """Return the name of a bound method of the Struct for `codes`."""
        name = f"{method}_{codes.replace('?', 'o')}"
        if name not in self.names:
            self.names[name] = getattr(Struct(f">{codes}"), method)
        return name

    def has(self, field: Field) -> bool:
        """Return True if this version has the field, tagged or not."""
        return covers(field.versions, self.version)

    def tags(self, field: Field) -> bool:
        """Return True if the field is tagged in this version."""
        return self.flexible and covers(field.tagged, self.version)

    def in_row(self, field: Field) -> bool:
        """Return True if the field is written in sequence (not tagged) in this version."""
        return self.has(field) and not self.tags(field)

    def null(self, field: Field) -> bool:
        """Return True if the field may be null in this version."""
        return covers(field.nullable, self.version)

    def nullable_at_all(self, field: Field) -> bool:
        """Return True if the field may be null in any version."""
        return field.nullable[0] <= field.nullable[1]

    def compact(self, field: Field) -> bool:
        """Return True if the field's length is a varint of the length plus one."""
        return self.flexible and covers(field.flexible, self.version)

    def lengths(self, field: Field) -> str:
        """Return the struct code of a fixed-width length, or of a compact length's first byte."""
        return "B" if self.compact(field) else "h" if field.kind == "string" else "i"

    def smallest(self, field: Field) -> int:
        """Return the least number of bytes that the field takes where it is not tagged."""
        if field.kind in FIXED:
            return FIXED[field.kind][1]
        if field.kind != "struct":
            return 1 if self.compact(field) else 2 if field.kind == "string" else 4
        return 1 if self.null(field) else self.smallest_struct(field)

    def smallest_struct(self, field: Field) -> int:
        """Return the least number of bytes of a field's struct that is not null."""
        sizes = [self.smallest(part) for part in self.parts(field) if self.in_row(part)]
        return sum(sizes) + self.flexible

    def parts(self, field: Field) -> tuple[Field, ...]:
        """Return the fields of a field's struct."""
        return () if field.struct is None else fields_of(field.struct)
