"""Commands that plugins contribute: entry points of the group `trio_kafka.commands`.

An entry point's name is the first word of its commands, and its value a module that imports nothing
heavy. The module's `COMMANDS` maps the other words to the place of a function and one line, as
`trio_kafka.cli.commands` does; the empty name is the first word itself. The docstring's first line
describes all of them. `INSTALL` may name what to install where a command finds a module missing, as
a requirement with extras (`keeper[tools]`).

Entry points are read when the words are no command of trio-kafka itself, and for the listing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from inspect import getdoc
from types import ModuleType
from typing import Final

from attrs import Factory

from trio_kafka.attributes import frozen
from trio_kafka.install_hint import install_command

GROUP: Final = "trio_kafka.commands"


class CommandError(Exception):
    """A contributed command cannot be used; the message names its entry point and the reason."""


@frozen(kw_only=True)
class Contributed:
    """Commands of one entry point. error: why there are none; empty: they can be used."""

    word: str
    source: str
    about: str = ""
    commands: Mapping[str, tuple[str, str]] = Factory(dict)
    install: str = ""
    error: str = ""

    def find(self, words: Sequence[str]) -> tuple[str, str] | None:
        """Return the full name of the command that `words` begin with, and its place."""
        if len(words) > 1 and words[1] in self.commands:
            return " ".join(words[:2]), self.commands[words[1]][0]
        return (words[0], self.commands[""][0]) if "" in self.commands else None


def contributed(
    taken: Iterable[str], points: Iterable[EntryPoint] | None = None
) -> Iterator[Contributed]:
    """Load the commands of every entry point, in the order of names.

    taken: first words of trio-kafka's own commands. A taken word is rejected.
    points: None: the installed entry points.
    """
    owners = dict.fromkeys(taken, "trio-kafka itself")
    for point in _sorted(entry_points(group=GROUP) if points is None else points):
        yield _load(point, owners.get(point.name))
        owners.setdefault(point.name, _source(point))


def find_contributed(
    word: str, taken: Iterable[str], points: Iterable[EntryPoint] | None = None
) -> Contributed | None:
    """Load the commands of the first entry point called `word`; None if there is none."""
    if word in taken:
        return None
    named = entry_points(group=GROUP, name=word) if points is None else points
    first = next((point for point in _sorted(named) if point.name == word), None)
    return None if first is None else _load(first, None)


def load_command(
    group: Contributed, name: str, place: str
) -> tuple[ModuleType, Callable[..., int]]:
    """Import a command. Raises CommandError."""
    module, _, function = place.partition(":")
    try:
        file = import_module(module)
        run: Callable[..., int] = getattr(file, function)
        file.declare  # noqa: B018 - its absence is told here
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == module.partition(".")[0]:
            raise CommandError(f"{name} cannot be imported: {error} ({group.source})") from error
        raise CommandError(missing(group, error)) from error
    except Exception as error:
        raise CommandError(
            f"{name} cannot be imported: {_shown(error)} ({group.source})"
        ) from error
    return file, run


def missing(group: Contributed, error: ModuleNotFoundError) -> str:
    """Say which module is missing and what to install."""
    needed = install_command(group.install) if group.install else "install it"
    return f"module {error.name} is not installed: {needed} ({group.source})"


def _load(point: EntryPoint, owner: str | None) -> Contributed:
    source = _source(point)
    if owner is not None:
        reason = f"the name {point.name} is taken by {owner}"
        return Contributed(word=point.name, source=source, error=reason)
    try:
        module = point.load()
        commands = _checked(module.COMMANDS)
        about = (getdoc(module) or "").partition("\n")[0]
    except Exception as error:  # noqa: BLE001 - a stranger's module; the others still work
        return Contributed(word=point.name, source=source, error=_shown(error))
    return Contributed(
        word=point.name,
        source=source,
        about=about,
        commands=commands,
        install=getattr(module, "INSTALL", ""),
    )


def _checked(commands: Mapping[str, object]) -> Mapping[str, tuple[str, str]]:
    """Return the commands. Raises TypeError for any other form."""
    checked: dict[str, tuple[str, str]] = {}
    for name, command in commands.items():
        match command:
            case (str(place), str(line)) if ":" in place and len(name.split()) <= 1:
                checked[name] = place, line
                continue
        raise TypeError(
            f"COMMANDS[{name!r}] is {command!r}, want one word and ('module:function', 'One line.')"
        )
    return checked


def _sorted(points: Iterable[EntryPoint]) -> list[EntryPoint]:
    return sorted(points, key=lambda point: (point.name, point.value))


def _source(point: EntryPoint) -> str:
    dist = f" of {point.dist.name}" if point.dist is not None else ""
    return f"entry point {point.name} = {point.value}{dist}"


def _shown(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
