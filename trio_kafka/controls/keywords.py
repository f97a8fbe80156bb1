"""Misspelled keyword arguments of the kit: the error names the argument that was meant."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, isfunction, signature
from typing import ParamSpec, TypeVar, Unpack, get_args, get_origin

__tracebackhide__ = True  # pytest ends the traceback of a failed test where it calls the kit

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C", bound=type)
_BY_NAME = frozenset({Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY})


def check_keywords(function: str, names: Iterable[str], accepted: Iterable[str]) -> None:
    """Raise TypeError if an argument is not known; the message names the one that is meant."""
    accepted = [name for name in accepted if name != "self"]
    for name in names:
        if name not in accepted:
            near = get_close_matches(name, accepted, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise TypeError(
                f"{function}() has no argument {name!r}: {hint}There are {', '.join(accepted)}"
            )


def keywords_of(function: Callable[..., object]) -> list[str]:
    """Return the names of the arguments that may be given by name."""
    parameters = signature(function).parameters.values()
    names = [parameter.name for parameter in parameters if parameter.kind in _BY_NAME]
    return [*names, *(name for parameter in parameters for name in _unpacked(parameter))]


def _unpacked(parameter: Parameter) -> Iterable[str]:
    """Return the names of `**arguments: Unpack[SomeTypedDict]`; none for other parameters."""
    if get_origin(parameter.annotation) is not Unpack:
        return ()
    (options,) = get_args(parameter.annotation)
    return tuple(options.__annotations__)


def suggesting(function: Callable[P, T]) -> Callable[P, T]:
    """Check the keyword arguments of a function by `check_keywords`.

    One with `**arguments` of unknown names checks them itself.
    """
    parameters = signature(function).parameters.values()
    if any(
        parameter.kind is Parameter.VAR_KEYWORD and not _unpacked(parameter)
        for parameter in parameters
    ):
        return function
    accepted = keywords_of(function)
    names = frozenset(accepted)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        if not names.issuperset(kwargs):
            check_keywords(function.__qualname__.removesuffix(".__init__"), kwargs, accepted)
        return function(*args, **kwargs)

    return call


def suggesting_fields(cls: C) -> C:
    """Check the keyword arguments of a class's constructor."""
    cls.__init__ = suggesting(cls.__init__)  # type: ignore[misc]
    return cls


def suggesting_methods(cls: C) -> C:
    """Check the keyword arguments of a class's public methods."""
    for name, value in list(vars(cls).items()):
        if isfunction(value) and not name.startswith("_"):
            setattr(cls, name, suggesting(value))
    return cls
