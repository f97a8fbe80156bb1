"""Schemas as judges: functions from the bytes of a value to an error text, or None if it fits.

Values and schemas of a registry may come from strangers. Nothing is fetched, no code is generated,
and patterns are matched in linear time. An Avro schema that would let a small value loop or recurse
without end is rejected.
"""

import io
import json
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn

import fastavro
import jsonschema_rs

Judge = Callable[[bytes], str | None]
LONGEST_MESSAGE: Final = 200  # characters: there may be thousands of them in an answer
MOST_REPEATED: Final = 8192
_DEEPEST: Final = 100
_SIZELESS: Final = "null"


class SchemaError(Exception):
    """The schema cannot be used; the message gives the reason."""


def judge_of(kind: str, text: str, most_repeated: int = MOST_REPEATED) -> Judge:
    """Return the judge of a schema. Raises SchemaError.

    kind: JSON or AVRO, a registry's names. most_repeated: largest Avro value whose schema
    has arrays or maps, because each byte may be an item, which costs 0.7 µs.
    """
    if kind not in ("JSON", "AVRO"):
        raise SchemaError(f"{_short(kind)} schemas are not known here: want JSON or AVRO")
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"a schema is no JSON: {error}") from error
    return _json_judge(schema) if kind == "JSON" else _avro_judge(schema, most_repeated)


def refusing(why: str) -> Judge:
    """Return a judge that rejects every value."""
    return lambda _: why


def _json_judge(schema: Any) -> Judge:
    try:
        validator = jsonschema_rs.validator_for(
            schema,
            mask="a value",  # what is wrong is said to the client, not what was in the record
            offline=True,
            pattern_options=jsonschema_rs.RegexOptions(),
        )
    except (ValueError, TypeError, jsonschema_rs.ReferencingError) as error:
        raise SchemaError(f"no usable JSON schema: {_short(str(error))}") from error

    def judge(value: bytes) -> str | None:
        try:
            content = json.loads(value.decode(), parse_constant=_no_constant)
            validator.validate(content)  # to the first error: there may be one for each item
        except jsonschema_rs.ValidationError as error:
            where = "".join(f"/{part}" for part in error.instance_path) or "/"
            return _short(f"{where}: {error.message}")
        except (ValueError, RecursionError) as failed:
            return _short(f"no JSON: {failed}")
        return None

    return judge


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _avro_judge(schema: Any, most_repeated: int) -> Judge:
    _check_avro(schema, sizeless={}, within=(), depth=0)
    try:
        parsed = fastavro.parse_schema(schema)
    except Exception as error:
        raise SchemaError(f"no usable Avro schema: {_short(str(error))}") from error
    text = json.dumps(schema)
    most = most_repeated if '"array"' in text or '"map"' in text else None

    def judge(value: bytes) -> str | None:
        if most is not None and len(value) > most:
            return f"{len(value)} bytes, want at most {most} where the schema has arrays or maps"
        source = io.BytesIO(value)
        try:
            fastavro.schemaless_reader(source, parsed, None)
        except Exception as error:  # noqa: BLE001 - whatever the reader meets, the value is why
            return _short(f"no such Avro: {type(error).__name__} {error}")
        rest = len(value) - source.tell()
        return f"{rest} bytes behind the Avro value" if rest else None

    return judge


def _check_avro(
    schema: object, *, sizeless: dict[str, bool], within: tuple[str, ...], depth: int
) -> bool:
    """Return True if a value may have no bytes at all. Raises SchemaError.

    sizeless: the result for named types, by the last part of the name; of two types with one name
    the worse counts. within: the types around this one. A type within itself would let a value
    decide how deep the reader recurses; an array of items without bytes, how often it loops.
    """
    if depth > _DEEPEST:
        raise SchemaError(f"an Avro schema of more than {_DEEPEST} levels")
    if isinstance(schema, list):
        for branch in schema:
            _check_avro(branch, sizeless=sizeless, within=within, depth=depth + 1)
        return False
    if isinstance(schema, str):
        name = schema.rpartition(".")[2]
        if name in within:
            raise SchemaError(f"the Avro type {schema} contains itself")
        return sizeless.get(name, schema == _SIZELESS)
    if not isinstance(schema, Mapping):
        raise SchemaError(f"no Avro type: {type(schema).__name__}")
    return _check_complex(schema, sizeless=sizeless, within=within, depth=depth + 1)


def _check_complex(
    schema: Mapping[str, object], *, sizeless: dict[str, bool], within: tuple[str, ...], depth: int
) -> bool:
    kind = schema.get("type")
    name = str(schema.get("name", "")).rpartition(".")[2]
    if kind in ("record", "error"):
        fields = schema.get("fields")
        if not isinstance(fields, list):
            raise SchemaError(f"the Avro record {name} has no fields")
        parts = [field.get("type") if isinstance(field, Mapping) else None for field in fields]
        empty = [
            _check_avro(part, sizeless=sizeless, within=(*within, name), depth=depth)
            for part in parts
        ]
        sizeless[name] = sizeless.get(name, False) or all(empty)
    elif kind == "array":
        if _check_avro(schema.get("items"), sizeless=sizeless, within=within, depth=depth):
            raise SchemaError("an Avro array of what has no bytes")
        return False
    elif kind == "map":
        _check_avro(schema.get("values"), sizeless=sizeless, within=within, depth=depth)
        return False
    elif kind in ("enum", "fixed"):
        none = kind == "fixed" and not schema.get("size")
        sizeless[name] = sizeless.get(name, False) or none
    else:
        return _check_avro(kind, sizeless=sizeless, within=within, depth=depth)
    return sizeless[name]


def _short(message: str) -> str:
    return message if len(message) <= LONGEST_MESSAGE else message[: LONGEST_MESSAGE - 1] + "…"
