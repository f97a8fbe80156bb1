"""Generator of encode functions: `encode(message, write)`, which calls `write(segment)` per piece.

Adjacent fixed-size values are packed together, along with the following length. A struct of only
such values and arrays of numbers is a row: one pack, whose Struct is cached by the lengths of the
arrays. A `records` value is passed to `write` unchanged. Stepwise, the function is a generator that
pauses after each array item. Counting, it also counts error codes in its third argument.
"""

from typing import Final

from attrs import Factory
from attrs import field as attribute

from trio_kafka.attributes import define
from trio_kafka.protocol import primitives
from trio_kafka.protocol.columns import Columns
from trio_kafka.protocol.fields import FIXED, Field
from trio_kafka.protocol.primitives import (
    BYTES,
    COMPACT_NAMES,
    PACKERS,
    PLAIN_NAMES,
    Malformed,
    Rows,
)
from trio_kafka.protocol.schema import default_of, fields_of
from trio_kafka.protocol.source import Neighbour, Source

CODES: Final = frozenset({"error_code", "partition_error_code"})
_AT_ONCE: Final = 64  # fixed-size values per step
_SHORT: Final = 127  # first compact length that takes a two-byte varint


@define
class EncodeWriter:
    """Writer of one function; `run` holds fixed-size values that are not yet packed."""

    source: Source
    run: list[Neighbour] = Factory(list)
    write_name: str = "write"
    stepwise: bool = attribute(default=False, kw_only=True)
    counting: bool = attribute(default=False, kw_only=True)

    def write(self, cls: type[object]) -> None:
        """Write the whole body."""
        self.source.names |= {
            "Malformed": Malformed,
            "BYTES": BYTES,
            "Columns": Columns,
            "COMPACT_NAMES": COMPACT_NAMES,
            "PLAIN_NAMES": PLAIN_NAMES,
            "uvarint": primitives.uvarint,
            "string_length": primitives.string_length,
            "join_tags": primitives.join_tags,
            "join_uuids": primitives.join_uuids,
            "refuse_known": primitives.refuse_known,
        }
        self._struct(cls, "message")
        self._flush()
        if self.stepwise:
            self.source.add("return", "")
            self.source.add("yield  # makes this a generator even without an array", "")

    def _struct(self, cls: type[object], of: str) -> None:
        """Write the instance `of`; its last fixed-size values may stay pending."""
        fields = fields_of(cls)
        for field in fields:
            if not self.source.has(field) and not field.ignorable:
                self._refuse_absent(field, of)
        if self.counting:
            self._count(fields, of)
        row = [field for field in fields if self.source.in_row(field)]
        if not self.run and self._is_row(cls, row):
            self._row(cls, row, of)
            return
        self._fields(cls, row, of)

    def _count(self, fields: tuple[Field, ...], of: str) -> None:
        for field in fields:
            if field.name in CODES and self.source.has(field):
                with self.source.inside(field.name):
                    self.source.add(f"codes[{of}.{field.name}] += 1")

    def _fields(self, cls: type[object], row: list[Field], of: str) -> None:
        for field in row:
            with self.source.inside(field.name):
                self._value(field, f"{of}.{field.name}")
        if self.source.flexible:
            self._tags(cls, of)
        else:
            self._refuse_tags(of)

    def _refuse_absent(self, field: Field, of: str) -> None:
        with self.source.inside(field.name):
            value = f"{of}.{field.name}"
            with self.source.block(f"if not ({self._is_default(field, value)}):"):
                self.source.add("raise Malformed('the version has no such field')")

    def _refuse_tags(self, of: str) -> None:
        with self.source.block(f"if {of}.unknown_tags:"):
            self.source.add("raise Malformed('the version has no tagged fields')")

    def _is_default(self, field: Field, value: str) -> str:
        """Return an expression that is true if the field has its default and may be left out."""
        if field.default is None:
            return f"{value} is None"
        if field.kind == "array":
            return f"{value} is not None and not len({value})"
        if field.kind != "struct":
            return f"{value} == {field.default!r}"
        parts = [f"{value} is not None"] if self.source.nullable_at_all(field) else []
        parts += [
            self._is_default(part, f"{value}.{part.name}") for part in self.source.parts(field)
        ]
        default_parts = " and ".join([*parts, f"not {value}.unknown_tags"])
        default = default_of(field)
        if not isinstance(default, field.part):
            return default_parts
        shared = self.source.constant(default, f"{field.name}_default_")
        return f"({value} is {shared} or {default_parts})"

    def _flush(self, behind: str = "") -> None:
        """Pack the pending values. behind: an expression of bytes to append to them."""
        if not self.run:
            return
        codes = "".join(item.code for item in self.run)
        path = " or ".join(dict.fromkeys(item.path for item in self.run))
        if codes == "B" and self.run[0].expression == "0":
            self.source.add(f"{self.write_name}(b'\\0')", path)
        else:
            pack = self.source.packing(codes, "pack")
            values = ", ".join(item.expression for item in self.run)
            self.source.add(f"{self.write_name}({pack}({values}){behind})", path)
        self.run.clear()

    def _flush_with(self, *more: Neighbour, behind: str = "") -> None:
        """Pack the pending values and `more`; keep the former pending for another branch."""
        kept = list(self.run)
        self.run += more
        self._flush(behind)
        self.run = kept

    def _value(self, field: Field, value: str) -> None:
        if field.kind in FIXED:
            self.run.append(self._neighbour(field, value))
        elif field.kind == "struct":
            self._struct_field(field, value)
        elif field.kind == "array":
            self._array(field, value)
        elif field.kind == "string":
            self._string(field, value)
        else:
            self._bytes(field, value)

    def _neighbour(self, field: Field, value: str) -> Neighbour:
        """Return a fixed-size value. A uuid is checked here, because struct would pad or cut it."""
        if field.kind == "uuid":
            name = self.source.variable("u")
            self.source.add(f"{name} = {value}")
            with self.source.block(f"if len({name}) != 16:"):
                self.source.add("raise Malformed('a uuid does not have 16 bytes')")
            value = name
        return Neighbour(FIXED[field.kind][0], value, self.source.path)

    def _length(self, field: Field, size: str) -> None:
        """Write a length with the pending values; a compact `size` is one more than the length."""
        if not self.source.compact(field):
            self.run.append(Neighbour(self.source.lengths(field), size, self.source.path))
            self._flush()
            return
        with self.source.block(f"if {size} < 128:"):
            self._flush_with(Neighbour("B", size, self.source.path))
        with self.source.block("else:"):
            self._flush()
            self.source.add(f"{self.write_name}(uvarint({size}))")
        self.run.clear()

    def _length_and_text(self, field: Field, size: str, text: str) -> None:
        """Write both with the pending values: copying a text is cheaper than another piece."""
        if not self.source.compact(field):
            self.run.append(Neighbour(self.source.lengths(field), size, self.source.path))
            self._flush(f" + {text}")
            return
        with self.source.block(f"if {size} < 128:"):
            if self.run:
                self._flush_with(Neighbour("B", size, self.source.path), behind=f" + {text}")
            else:
                self.source.add(f"{self.write_name}(BYTES[{size}] + {text})")
        with self.source.block("else:"):
            self._flush()
            self.source.add(f"{self.write_name}(string_length({size}))")
            self.source.add(f"{self.write_name}({text})")
        self.run.clear()

    def _string(self, field: Field, value: str) -> None:
        compact, null = self.source.compact(field), self.source.null(field)
        if field.cached:
            self._flush()
            names = "COMPACT_NAMES" if compact else "PLAIN_NAMES"
            if null:
                text = self.source.variable("s")
                nothing = r"b'\0'" if compact else r"b'\xff\xff'"
                self.source.add(f"{text} = {value}")
                name = f"{nothing} if {text} is None else {names}[{text}]"
            else:
                name = f"{names}[{value}]"
            self.source.add(f"{self.write_name}({name})")
            return
        text, size = self.source.variable("s"), self.source.variable("n")
        if null:
            self.source.add(f"{text} = {value}")
            with self.source.block(f"if {text} is None:"):
                self.source.add(f"{text} = b''")
                self.source.add(f"{size} = {0 if compact else -1}")
            with self.source.block("else:"):
                self._encoded(text, text, size, compact=compact)
        else:
            self._encoded(value, text, size, compact=compact)
        self._length_and_text(field, size, text)

    def _encoded(self, value: str, text: str, size: str, *, compact: bool) -> None:
        self.source.add(f"{text} = {value}.encode()")
        self.source.add(f"{size} = len({text}){' + 1' if compact else ''}")

    def _size(self, field: Field, value: str, variable: str) -> str:
        """Assign a value to a variable and its encoded length to another."""
        size = self.source.variable("n")
        self.source.add(f"{variable} = {value}")
        compact = self.source.compact(field)
        length = f"len({variable}){' + 1' if compact else ''}"
        if self.source.null(field):
            length = f"{0 if compact else -1} if {variable} is None else {length}"
        self.source.add(f"{size} = {length}")
        return size

    def _bytes(self, field: Field, value: str) -> None:
        content = self.source.variable("b")
        size = self._size(field, value, content)
        self._length(field, size)
        with self.source.block(f"if {size} > {int(self.source.compact(field))}:"):
            self.source.add(f"{self.write_name}({content})")

    def _array(self, field: Field, value: str) -> None:
        of = field.item
        items = self.source.variable("a")
        size = self._size(field, value, items)
        self._length(field, size)
        if of.kind in FIXED and self.stepwise:
            some = self.source.variable("a")
            with self.source.block(f"for at in range(0, len({items} or ()), {_AT_ONCE}):"):
                with self.source.block("if at:"):
                    self.source.add("yield")
                self.source.add(f"{some} = {items}[at:at + {_AT_ONCE}]")
                self.source.add(f"{self.write_name}({self._numbers(of, some)})")
            return
        if of.kind in FIXED:
            with self.source.block(f"if {size} > {int(self.source.compact(field))}:"):
                self.source.add(f"{self.write_name}({self._numbers(of, items)})")
            return
        if field.columns:
            with self.source.block(f"if {size} > {int(self.source.compact(field))}:"):
                with self.source.block(f"if type({items}) is Columns:"):
                    self._columns(items)
                with self.source.block("else:"):
                    self._items(field, items)
            return
        self._items(field, f"{items} or ()" if self.source.null(field) else items)

    def _columns(self, items: str) -> None:
        """Write the rows of `Columns`."""
        pieces = f"{items}.pieces(flexible={self.source.flexible})"
        with self.source.block(f"for piece in {pieces}:"):
            self.source.add(f"{self.write_name}(piece)")
            if self.stepwise:
                self.source.add("yield")

    def _items(self, field: Field, items: str) -> None:
        """Write the items of an array one by one."""
        of, item = field.item, self.source.variable("i")
        with self.source.block(f"for {item} in {items}:"):
            if of.kind != "struct":
                self._value(of, item)
            else:
                self._struct(of.part, item)
            self._flush()
            if self.stepwise:
                self.source.add("yield")
            elif not self.source.flexible and not self.source.smallest(of):
                self.source.add("pass")

    def _numbers(self, of: Field, items: str) -> str:
        """Return an expression for the bytes of an array of fixed-size values."""
        if of.kind == "uuid":
            return f"join_uuids({items})"
        packers = self.source.constant(PACKERS[FIXED[of.kind][0]], "packers")
        return f"{packers}[len({items})](*{items})"

    def _struct_field(self, field: Field, value: str) -> None:
        if not self.source.null(field):
            self._struct(field.part, self._bind(value))
            return
        held = self._bind(value)
        with self.source.block(f"if {held} is None:"):
            none = "0" if self.source.tags(field) else "-1"  # in a tag it is an unsigned varint
            self._flush_with(Neighbour("b", none, self.source.path))
        with self.source.block("else:"):
            self.run.append(Neighbour("b", "1", self.source.path))
            self._struct(field.part, held)
            self._flush()
        self.run.clear()

    def _bind(self, value: str) -> str:
        name = self.source.variable("o")
        self.source.add(f"{name} = {value}")
        return name

    def _is_of_numbers(self, field: Field) -> bool:
        """Return True for an array that one pack can write."""
        return field.kind == "array" and field.item.kind in FIXED and field.item.kind != "uuid"

    def _is_row(self, cls: type[object], row: list[Field]) -> bool:
        """Return True for an untagged struct of only fixed-size values and number arrays."""
        arrays = [field for field in row if field.kind == "array"]
        return (
            bool(arrays)
            and not any(
                self.source.has(field) and self.source.tags(field) for field in fields_of(cls)
            )
            and all(field.kind in FIXED or field.kind == "array" for field in row)
            and all(self._is_of_numbers(field) and not self.source.null(field) for field in arrays)
        )

    def _row(self, cls: type[object], row: list[Field], of: str) -> None:
        """Write a row by one pack, or by field if an array is long or unknown tags exist."""
        form, values, lengths, short = "", [], [], []
        for field in row:
            value = f"{of}.{field.name}"
            with self.source.inside(field.name):
                if field.of is None:
                    form += FIXED[field.kind][0]
                    values.append(self._neighbour(field, value).expression)
                    continue
                items, size = self._bind(value), self.source.variable("n")
                self.source.add(f"{size} = len({items})")
            lengths.append(size)
            form += f"{self.source.lengths(field)}%d{FIXED[field.of.kind][0]}"
            values += [f"{size} + 1" if self.source.flexible else size, f"*{items}"]
            if self.source.flexible:
                short.append(f"{size} < {_SHORT}")
        if self.source.flexible:
            form += "B"
            values.append("0")
        rows = self.source.constant(Rows(f">{form}"), "rows")
        path = self.source.one_of(row)
        with self.source.block(f"if {' and '.join([*short, f'not {of}.unknown_tags'])}:"):
            packed = f"{rows}[{', '.join(lengths)}]({', '.join(values)})"
            self.source.add(f"{self.write_name}({packed})", path)
        with self.source.block("else:"):
            self._fields(cls, row, of)
            self._flush()

    def _tags(self, cls: type[object], of: str) -> None:
        """Write tagged fields that differ from their defaults, known and unknown in tag order."""
        source = self.source
        tagged = [field for field in fields_of(cls) if source.has(field) and source.tags(field)]
        plain = [self._is_default(field, f"{of}.{field.name}") for field in tagged]
        nothing = f"if {' and '.join([*plain, f'not {of}.unknown_tags'])}:"
        with source.block(nothing, source.one_of(tagged)):
            self._flush_with(Neighbour("B", "0", source.path))
        if len(tagged) == 1 and tagged[0].kind in FIXED:
            self._one_tag(tagged[0], of)
        elif len(tagged) == 1 and self._is_of_numbers(tagged[0]):
            self._one_tagged_array(tagged[0], of)
        with source.block("else:"):
            self._flush()
            if tagged:
                self._gather(tagged, of)
            else:
                source.add(f"{self.write_name}(join_tags({of}.unknown_tags))")
        self.run.clear()

    def _one_tag(self, field: Field, of: str) -> None:
        """Write the only declared tagged field, of fixed size, packed with its neighbours."""
        source = self.source
        with source.block(f"elif not {of}.unknown_tags:"), source.inside(field.name):
            value = self._neighbour(field, f"{of}.{field.name}")
            prefix = ("1", str(field.tag), str(FIXED[field.kind][1]))  # count, tag, size
            self._flush_with(*(Neighbour("B", number, source.path) for number in prefix), value)

    def _one_tagged_array(self, field: Field, of: str) -> None:
        """Write the only declared tagged field, a number array short enough for one-byte sizes."""
        source, value = self.source, f"{of}.{field.name}"
        code, item_size = FIXED[field.item.kind]
        head = [f"not {of}.unknown_tags"]
        if source.nullable_at_all(field):
            head.append(f"{value} is not None")
        head.append(f"len({value}) <= {(_SHORT - 1) // item_size}")
        with source.block(f"elif {' and '.join(head)}:"), source.inside(field.name):
            self._flush_with()
            items, size = self._bind(value), source.variable("n")
            source.add(f"{size} = len({items})")
            rows = source.constant(Rows(f">BBBB%d{code}"), "rows")
            prefix = f"1, {field.tag}, {size} * {item_size} + 1, {size} + 1"  # count, tag, sizes
            source.add(f"{self.write_name}({rows}[{size}]({prefix}, *{items}))")

    def _gather(self, tagged: list[Field], of: str) -> None:
        """Encode each tagged field separately, then write all of them in tag order."""
        source = self.source
        declared = source.constant(frozenset(field.tag for field in tagged), "known")
        tags = source.variable("tags")
        source.add(f"refuse_known({of}.unknown_tags, {declared})")
        source.add(f"{tags} = dict({of}.unknown_tags)")
        outer = self.write_name
        for field in tagged:
            value = f"{of}.{field.name}"
            head = f"if not ({self._is_default(field, value)}):"
            with source.inside(field.name), source.block(head):
                pieces, self.write_name = source.variable("pieces"), source.variable("put")
                source.add(f"{pieces} = []")
                source.add(f"{self.write_name} = {pieces}.append")
                self._value(field, value)
                self._flush()
                source.add(f"{tags}[{field.tag}] = b''.join({pieces})")
                self.write_name = outer
        source.add(f"{outer}(join_tags({tags}))")
