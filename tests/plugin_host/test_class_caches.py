"""Caches of `typing` are found without their private names, and cleared."""

import gc
import typing
import weakref
from collections.abc import Callable, Mapping
from typing import Annotated, ClassVar, Final, Generic, Literal, Optional, TypeVar, Union

import pytest

from trio_kafka.plugin_host.class_caches import (
    clear_typing_caches,
    find_typing_caches,
)

T = TypeVar("T")


class Box(Generic[T]):
    """A generic class, whose parameters typing keeps."""


MAKERS: dict[str, Callable[[type], object]] = {
    "annotated": lambda kind: Annotated[kind, 1],
    "box": lambda kind: Box[kind],
    "callable": lambda kind: typing.Callable[[kind], kind],
    "class variable": lambda kind: ClassVar[Mapping[str, kind]],
    "final": lambda kind: Final[list[kind]],
    "optional": lambda kind: Optional[kind],  # noqa: UP045 - the cached form
    "tuple": lambda kind: typing.Tuple[kind, ...],  # noqa: UP006 - the cached form
    "union": lambda kind: Union[kind, int],  # noqa: UP007 - the cached form
}


@pytest.mark.parametrize("name", MAKERS)
def test_a_class_in_typing_caches_is_collected_after_they_are_cleared(name: str) -> None:
    class Thing:
        pass

    MAKERS[name](Thing)
    reference = weakref.ref(Thing)
    del Thing

    clear_typing_caches()
    gc.collect()

    assert reference() is None


def test_find_typing_caches_finds_every_cache_that_typing_registers() -> None:
    """The private list is only read here: to see that nothing of it is missed."""
    registered = typing._cleanups  # type: ignore[attr-defined]

    ids = {id(cache) for cache in find_typing_caches()}
    assert registered
    assert [clear for clear in registered if id(clear.__self__) not in ids] == []


def test_cleared_typing_caches_are_filled_again() -> None:
    clear_typing_caches()

    assert Literal[1] is Literal[1]
    assert Optional[int] == Union[int, None]  # noqa: UP007, UP045 - the cached forms
