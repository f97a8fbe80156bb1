"""Generator of decode functions: `decode(buf, pos=0) -> (message, position)`.

The code is straight-line with inlined loops. Adjacent fixed-size values are unpacked together,
along with the following length or first varint byte. `buf` is bytes or a memoryview of bytes;
values are copied out of it, except `records`. Lengths are checked against the rest of `buf` before
anything is allocated.
Stepwise, the function is a generator that pauses after each array item, after each `_AT_ONCE`
fixed-size items, and before tagged fields. With `few`, it raises ManyItemsError for an array of
more than FEW items in a message that is not small.
"""

from typing import Final

from attrs import Factory
from attrs import field as attribute

from trio_kafka.attributes import define
from trio_kafka.protocol import primitives
from trio_kafka.protocol.errors import ManyItemsError
from trio_kafka.protocol.fields import FIXED, Field
from trio_kafka.protocol.primitives import NO_TAGS, UNPACKERS, Malformed
from trio_kafka.protocol.schema import default_of, fields_of
from trio_kafka.protocol.source import Neighbour, Source
from trio_kafka.protocol.trailing_defaults import trailing_defaults

Sink = str  # a line with {} for the value, e.g. "v3 = {}" or "v4.append({})"
_SIZES: Final = dict(FIXED.values()) | {"B": 1}
_AT_ONCE: Final = 64  # fixed-size values per step
FEW: Final = 30  # largest array that is always decoded at once, in items
FEW_BYTES: Final = 4 << 10  # largest message that is always decoded at once
EMPTY_ELEMENTS: Final = (
    16  # zero-size items in one array: no Kafka message has any, hostile input may
)


@define
class DecodeWriter:
    """Writer of one function; `run` holds fixed-size values that are not yet unpacked."""

    source: Source
    run: list[Neighbour] = Factory(list)
    stepwise: bool = attribute(default=False, kw_only=True)
    few: bool = attribute(default=False, kw_only=True)

    def write(self, cls: type[object]) -> None:
        """Write the whole body, including its return."""
        source = self.source
        source.names |= {
            "NO_TAGS": NO_TAGS,
            "Malformed": Malformed,
            "ManyItemsError": ManyItemsError,
            "long": primitives.read_long_uvarint,
            "long_string": primitives.read_string_length,
            "read_uvarint": primitives.read_uvarint,
            "read_tags": primitives.read_tags,
            "tag_count": primitives.read_tag_count,
        }
        source.add("end = len(buf)", "")
        if _has_records(cls):
            source.add("view = buf if type(buf) is memoryview else memoryview(buf)", "")
        self._struct(cls, "message = {}", trailing_defaults(source, cls))
        source.add("return message, pos", "")
        if self.stepwise:
            source.add("yield  # makes this a generator even without an array", "")

    def _struct(
        self, cls: type[object], sink: Sink, rest: tuple[Field, bytes] | None = None
    ) -> None:
        """Read the fields of `cls`, then pass the instance to `sink`. rest: see
        `trailing_defaults`.
        """
        arguments: list[str] = []
        for field in fields_of(cls):
            if rest is not None and field is rest[0]:
                self._rest(cls, arguments, rest[1])
            if self.source.in_row(field):
                arguments.append(self.source.variable("v"))
                with self.source.inside(field.name):
                    self._value(field, arguments[-1])
            else:
                arguments.append(self._default(field))
        if self.source.flexible:
            self._tags(cls, arguments, sink)
        else:
            self._flush()
            self._build(cls, arguments, sink)

    def _rest(self, cls: type[object], arguments: list[str], default: bytes) -> None:
        """Return early if only the default bytes remain."""
        self._flush()
        rest = self.source.constant(default, "rest")
        with self.source.block(f"if end - pos == {len(default)} and buf[pos:] == {rest}:"):
            self._build(cls, arguments, "return {}, end")

    def _build(self, cls: type[object], arguments: list[str], sink: Sink) -> None:
        name = self.source.constant(cls, f"{cls.__name__}_")
        self.source.add(sink.format(f"{name}({', '.join(arguments)})"))

    def _default(self, field: Field) -> str:
        """Return an expression for the field's value in a version that lacks it."""
        if field.default is not ...:
            return repr(field.default)
        if field.kind == "array":
            return "[]"
        default = default_of(field)
        if isinstance(default, field.part):
            return self.source.constant(default, f"{field.name}_default_")
        return f"{self.source.constant(field.part, f'{field.name}_')}()"

    def _value(self, field: Field, target: str) -> None:
        """Read one field into the variable `target`."""
        if field.kind in FIXED:
            self.run.append(Neighbour(FIXED[field.kind][0], target, self.source.path))
        elif field.kind == "struct":
            self._struct_field(field, target)
        elif field.kind == "array":
            self._array(field, target)
        else:
            self._bytes(field, target)

    def _flush(self, less: int = 0) -> None:
        """Unpack the pending values. less: how many of their bytes `pos` does not skip yet."""
        if not self.run:
            return
        codes = "".join(item.code for item in self.run)
        targets = ", ".join(item.expression for item in self.run)
        path = " or ".join(dict.fromkeys(item.path for item in self.run))
        if codes == "B":
            self.source.add(f"{targets} = buf[pos]", path)
            size = 1
        else:
            unpack = self.source.packing(codes, "unpack_from")
            size = sum(_SIZES[item.code] for item in self.run)
            self.source.add(f"{targets}, = {unpack}(buf, pos)", path)
        if size > less:
            self.source.add(f"pos += {size - less}", path)
        self.run.clear()

    def _length(self, field: Field, less: int = 0) -> str:
        """Read a fixed-width length, or the first byte of a compact one. less: see `_flush`."""
        size = self.source.variable("n")
        self.run.append(Neighbour(self.source.lengths(field), size, self.source.path))
        self._flush(less)
        return size

    def _long(self, size: str, slow: str) -> None:
        """Read the rest of a varint whose first byte is in `size`: two bytes inline, more by a
        call.
        """
        with self.source.block(f"if {size} > 127:"):
            self._long_from(size, slow)

    def _long_from(self, size: str, slow: str) -> None:
        """Read the rest of a varint that is known to have more than one byte."""
        self.source.add("more = buf[pos]")
        with self.source.block("if more < 128:"):
            self.source.add(f"{size} = {size} & 127 | more << 7")
            self.source.add("pos += 1")
        with self.source.block("else:"):
            self.source.add(f"{size}, pos = {slow}(buf, pos, {size})")

    def _null(self, field: Field, target: str) -> None:
        if self.source.null(field):
            self.source.add(f"{target} = None")
        else:
            self.source.add("raise Malformed('null is not allowed here')")

    def _negative(self, field: Field) -> None:
        """Add the branch that rejects a length below -1."""
        if not self.source.compact(field):
            with self.source.block("else:"):
                self.source.add("raise Malformed('the length is negative')")

    def _bytes(self, field: Field, target: str) -> None:
        compact = self.source.compact(field)
        size = self._length(field, less=int(compact))
        if not compact:
            with self.source.block(f"if {size} >= 0:"):
                self.source.add("start = pos")
                self._read_content(field, size, target)
            with self.source.block(f"elif {size} == -1:"):
                self._null(field, target)
            self._negative(field)
            return
        # A compact length is one more than the size, so the value ends that far from its first
        # length byte, which `pos` still points to.
        with self.source.block(f"if {size} > 127:"):
            self.source.add("pos += 1")
            self._long_from(size, "long_string" if field.kind == "string" else "long")
            self.source.add("pos -= 1")
        with self.source.block(f"if {size}:"):
            self.source.add("start = pos + 1")
            self._read_content(field, size, target)
        with self.source.block("else:"):
            if self.source.null(field):
                self.source.add("pos += 1")
            self._null(field, target)

    def _read_content(self, field: Field, size: str, target: str) -> None:
        """Read from `start` to `size` bytes after `pos`, and advance `pos` to that end."""
        self.source.add(f"pos += {size}")
        with self.source.block("if pos > end:"):
            self.source.add("raise Malformed('longer than the rest of the message')")
        taken = {
            "string": "str(buf[start:pos], 'utf-8')",
            "bytes": "bytes(buf[start:pos])",
            "records": "view[start:pos]",
        }[field.kind]
        self.source.add(f"{target} = {taken}")

    def _array(self, field: Field, target: str) -> None:
        count = self._length(field)
        if self.source.compact(field):
            self._long(count, "long")
            self.source.add(f"{count} -= 1")
        least = self.source.smallest(field.item)
        with self.source.block(f"if {count} > 0:"):
            room = f"{count} * {least} > end - pos" if least else f"{count} > {EMPTY_ELEMENTS}"
            with self.source.block(f"if {room}:"):
                self.source.add(
                    "raise Malformed('more items than the rest of the message can hold')"
                )
            if self.few and field.item.kind not in FIXED:
                with self.source.block(f"if {count} > {FEW} and end > {FEW_BYTES}:"):
                    self.source.add("raise ManyItemsError")
            self._items(field.item, count, target)
        with self.source.block(f"elif {count} == 0:"):
            self.source.add(f"{target} = []")
        with self.source.block("else:" if self.source.compact(field) else f"elif {count} == -1:"):
            self._null(field, target)
        self._negative(field)

    def _items(self, of: Field, count: str, target: str) -> None:
        """Read `count` items, at least one."""
        if of.kind in FIXED:
            self._fixed_size_items(of, count, target)
        else:
            # This loop is cheaper than `range` for the usual one or two items, and no dearer for
            # many. Looking up `append` in place is cheapest too.
            self.source.add(f"{target} = []")
            with self.source.block("while True:"):
                if of.kind == "struct":
                    self._struct(of.part, f"{target}.append({{}})")
                else:
                    item = self.source.variable("v")
                    self._value(of, item)
                    self._flush()
                    self.source.add(f"{target}.append({item})")
                if self.stepwise:
                    self.source.add("yield")
                self.source.add(f"{count} -= 1")
                with self.source.block(f"if not {count}:"):
                    self.source.add("break")

    def _fixed_size_items(self, of: Field, count: str, target: str) -> None:
        """Read `count` fixed-size values; stepwise, at most `_AT_ONCE` before each pause."""
        self.source.add(f"{target} = []")
        if self.stepwise:
            with self.source.block(f"while {count} > {_AT_ONCE}:"):
                self._extend(of, str(_AT_ONCE), target)
                self.source.add(f"{count} -= {_AT_ONCE}")
                self.source.add("yield")
        self._extend(of, count, target)

    def _extend(self, of: Field, count: str, target: str) -> None:
        code, size = FIXED[of.kind]
        if of.kind == "uuid":
            places = f"range(pos, pos + {size} * {count}, {size})"
            self.source.add(f"{target} += [bytes(buf[i:i + {size}]) for i in {places}]")
        else:
            unpackers = self.source.constant(UNPACKERS[code], "unpackers")
            self.source.add(f"{target} += {unpackers}[{count}](buf, pos)")
        self.source.add(f"pos += {size} * {count}")

    def _struct_field(self, field: Field, target: str) -> None:
        if not self.source.null(field):
            self._struct(field.part, f"{target} = {{}}")
            return
        mark = self.source.variable("n")
        self.run.append(Neighbour("b", mark, self.source.path))
        self._flush()
        none = "<= 0" if self.source.tags(field) else "< 0"  # in a tag it is an unsigned varint
        with self.source.block(f"if {mark} {none}:"):
            self.source.add(f"{target} = None")
        with self.source.block("else:"):
            self._struct(field.part, f"{target} = {{}}")

    def _tags(self, cls: type[object], arguments: list[str], sink: Sink) -> None:
        """Read the tagged fields, then build. A struct without any costs one comparison."""
        source = self.source
        count = source.variable("n")
        self.run.append(Neighbour("B", count, source.path))
        self._flush()
        tagged = {
            place: field
            for place, field in enumerate(fields_of(cls))
            if source.has(field) and source.tags(field)
        }
        with source.block(f"if {count}:"):
            if self.stepwise:
                source.add("yield")
            unknown = source.variable("tags")
            values = [*arguments, unknown]
            if tagged:
                for place in tagged:
                    values[place] = source.variable("v")
                    source.add(f"{values[place]} = {arguments[place]}")
                self._tag_loop(count, unknown, {values[i]: field for i, field in tagged.items()})
            else:
                source.add(f"{unknown}, pos = read_tags(buf, pos, {count})")
            self._build(cls, values, sink)
        with source.block("else:"):
            self._build(cls, arguments, sink)

    def _tag_loop(self, count: str, unknown: str, fields: dict[str, Field]) -> None:
        source = self.source
        tag, stop = source.variable("tag"), source.variable("stop")
        source.add(f"{unknown} = NO_TAGS")
        with source.block(f"if {count} > 127:"):
            source.add(f"{count}, pos = tag_count(buf, pos, {count})")
        with source.block(f"for _ in range({count}):"):
            source.add(f"{tag}, pos = read_uvarint(buf, pos)")
            source.add(f"{stop}, pos = read_uvarint(buf, pos)")
            source.add(f"{stop} += pos")
            with source.block(f"if {stop} > end:"):
                source.add(
                    "raise Malformed('a tagged field is longer than the rest of the message')"
                )
            branch = "if"
            for target, field in fields.items():
                with source.block(f"{branch} {tag} == {field.tag}:"), source.inside(field.name):
                    self._value(field, target)
                    self._flush()
                    with source.block(f"if pos != {stop}:"):
                        source.add(
                            "raise Malformed('a tagged field does not have its stated size')"
                        )
                branch = "elif"
            with source.block("else:"):
                with source.block(f"if {unknown} is NO_TAGS:"):
                    source.add(f"{unknown} = {{}}")
                source.add(f"{unknown}[{tag}] = bytes(buf[pos:{stop}])")
                source.add(f"pos = {stop}")


def _has_records(cls: type[object]) -> bool:
    structs = []
    for field in fields_of(cls):
        if field.kind == "records":
            return True
        structs += [part.struct for part in (field, field.of) if part and part.struct]
    return any(_has_records(part) for part in structs)
