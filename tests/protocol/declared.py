"""Kit for tests of the protocol: declared classes, recorded data, strategies for messages."""

import gzip
import importlib
import json
import pkgutil
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from trio_kafka.protocol import headers, messages, stored
from trio_kafka.protocol.fields import Field
from trio_kafka.protocol.schema import Message, fields_of, message_of
from trio_kafka.protocol.versions import covers

DATA = Path(__file__).parent / "data"
OURS = re.compile(r"\.k1\d{4}_")  # not Kafka's: tested with their handlers


def recorded(name: str) -> list[dict[str, Any]]:
    """The lines of a file of recorded data."""
    return [json.loads(line) for line in gzip.decompress((DATA / name).read_bytes()).splitlines()]


@cache
def classes() -> tuple[type[Any], ...]:
    """Every declared message class of Kafka's, by name."""
    modules = [headers]
    for package in (messages, stored):
        listing = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        modules += [
            importlib.import_module(each.name) for each in listing if not OURS.search(each.name)
        ]
    seen = {
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type) and isinstance(value.__dict__.get("__message__"), Message)
    }
    return tuple(sorted(seen, key=lambda cls: (cls.__name__, cls.__module__)))


def requests() -> dict[int, type[Any]]:
    """Request classes by key."""
    described = ((cls, message_of(cls)) for cls in classes())
    return {m.key: cls for cls, m in described if m.kind == "request" and m.key is not None}


def versions(cls: type[Any]) -> range:
    first, last = message_of(cls).versions
    return range(first, last + 1)


def all_versions() -> Iterator[tuple[type[Any], int]]:
    return ((cls, version) for cls in classes() for version in versions(cls))


def newest_and_another(choices: Sequence[int], draw: Any) -> set[int]:
    """Return the last of the versions and any of them, for one example."""
    return {choices[-1], draw.draw(st.sampled_from(choices))}


RANGES = {
    "int8": (-(1 << 7), (1 << 7) - 1),
    "int16": (-(1 << 15), (1 << 15) - 1),
    "uint16": (0, (1 << 16) - 1),
    "int32": (-(1 << 31), (1 << 31) - 1),
    "uint32": (0, (1 << 32) - 1),
    "int64": (-(1 << 63), (1 << 63) - 1),
}
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.just("x" * 130)


def values(field: Field, version: int, *, flexible: bool) -> st.SearchStrategy[Any]:
    """Any value that the version can carry."""
    if field.kind in RANGES:
        some: st.SearchStrategy[Any] = st.integers(*RANGES[field.kind])
    elif field.kind == "array":
        some = st.lists(values(field.item, version, flexible=flexible), max_size=3)
    elif field.kind == "struct":
        some = instances(field.part, version, flexible=flexible)
    else:
        some = {
            "float64": st.floats(allow_nan=False),
            "boolean": st.booleans(),
            "uuid": st.binary(min_size=16, max_size=16),
            "string": TEXT,
            "bytes": st.binary(max_size=140),
            "records": st.binary(max_size=140),
        }[field.kind]
    return st.none() | some if covers(field.nullable, version) else some


def instances(cls: type[Any], version: int, *, flexible: bool) -> st.SearchStrategy[Any]:
    """Any instance that the version can carry; fields it lacks keep their defaults."""
    tags_of_fields = {
        field.tag for field in fields_of(cls) if flexible and covers(field.tagged, version)
    }
    present = {
        field.name: values(field, version, flexible=flexible)
        for field in fields_of(cls)
        if covers(field.versions, version)
    }
    if flexible:
        tags = st.integers(20, 1 << 20).filter(lambda tag: tag not in tags_of_fields)
        present["unknown_tags"] = st.dictionaries(tags, st.binary(max_size=5), max_size=2)
    return st.builds(cls, **present)


@cache
def messages_of(cls: type[Any], version: int) -> st.SearchStrategy[Any]:
    return instances(cls, version, flexible=covers(message_of(cls).flexible, version))
