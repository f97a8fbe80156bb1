"""The repr of classes by attrs, and by this project."""

import re
from typing import Any

import attrs
import pytest

from tests.project.tree import ROOT, modules
from trio_kafka import attributes


def classes(module: Any) -> list[type[Any]]:
    """The same classes, as a module makes them."""

    @module.frozen
    class Plain:
        one: int
        _two: str = "2"

    @module.define(kw_only=True)
    class Hiding:
        one: int = 1
        secret: str = attrs.field(default="x", repr=False)
        short: str = attrs.field(default="long", repr=lambda value: value[:1])
        unset: int = attrs.field(init=False)

    @module.define
    class Below(Plain):
        three: Any = None

    @module.frozen
    class Own:
        one: int = 1

        def __repr__(self) -> str:
            return "mine"

    @module.frozen(repr=False)
    class Nothing(Own):
        two: int = 2

    @module.define
    class BrokenError(Exception):
        code: int = 3

    return [Plain, Hiding, Below, Own, Nothing, BrokenError]


def shown(module: Any) -> list[str]:
    plain, hiding, below, own, nothing, failure = classes(module)
    cycle: list[Any] = []
    cycle.append(below(1, three=cycle))
    instances = [plain(1), hiding(), cycle[0], own(), nothing(), failure()]
    return [repr(instance) for instance in instances]


def test_repr_is_the_same_as_that_of_attrs() -> None:
    assert shown(attributes) == shown(attrs)


def test_repr_shows_fields_except_those_with_repr_false() -> None:
    assert shown(attributes)[:2] == [
        "Plain(one=1, _two='2')",
        "Hiding(one=1, short=l, unset=NOTHING)",
    ]


def test_equality_hash_slots_and_freezing_are_those_of_attrs() -> None:
    plain, *_ = classes(attributes)

    assert plain(1) == plain(1) != plain(2)
    assert hash(plain(1)) == hash(plain(1))
    assert plain.__slots__
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        plain(1).one = 2


def test_all_classes_share_the_function_of_their_repr() -> None:
    plain, hiding, *_ = classes(attributes)

    assert plain.__repr__ is hiding.__repr__ is attributes.show


def test_broker_modules_do_not_import_define_or_frozen_from_attrs() -> None:
    other = re.compile(r"^from attrs import .*\b(?:define|frozen)\b", re.MULTILINE)
    broker = [path for path in modules() if path.parts[0] == "trio_kafka"]

    assert [path for path in broker if other.search((ROOT / path).read_text())] == []
