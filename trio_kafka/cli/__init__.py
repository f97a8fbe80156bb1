"""The command `trio-kafka`: one file per command, imported when it runs.

Plugins add commands of their own: `trio_kafka.cli.contributed` finds what is not in COMMANDS.
Nothing is imported here but what finds the command, so that `start` pays only for what it needs.
A command's file has `declare`, which tells a parser its arguments, and the function that gets them
by name and returns an exit status; the function's docstring is the command's help.
"""

import gc
import os
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NoReturn

if TYPE_CHECKING:
    from trio_kafka.cli.contributed import Contributed

__all__ = ["main"]

# Name, where its function is, and its line in the list of commands, which imports none of them.
# Commands of a group come under its name.
COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "start": ("trio_kafka.cli.start:start", "Run a broker until it is told to stop."),
    "format": ("trio_kafka.cli.format:format_storage", "Give data directories their identity."),
    "tree": ("trio_kafka.cli.tree:tree", "Show what runs and what waits in a broker."),
    "top": ("trio_kafka.cli.top:top", "Show what a broker does, again and again."),
    "requests": ("trio_kafka.cli.requests:requests", "Show requests in hand, latest or slowest."),
    "config explain": ("trio_kafka.cli.config.explain:explain", "Say what settings mean."),
    "config lint": ("trio_kafka.cli.config.lint:lint_files", "Say what is wrong with settings."),
    "config diff": ("trio_kafka.cli.config.diff:diff", "Say which settings differ."),
    "plugin list": ("trio_kafka.cli.plugin.list:list_plugins", "Show the plugins of a broker."),
    "plugin new": ("trio_kafka.cli.plugin.new:new", "Write a package with a plugin."),
    "plugin check": ("trio_kafka.cli.plugin.check:check", "Check what is installed."),
    "plugin reload": ("trio_kafka.cli.plugin.reload:reload", "Reload a plugin of a broker."),
    "version": ("trio_kafka.cli.version:version", "Print the version."),
}
_GROUPS: Final = {
    "config": "What settings mean, what is wrong with them, how they differ.",
    "plugin": "What plugins do in a broker, what is installed, and a new one to begin with.",
}

_PROGRAM: Final = "trio-kafka"
REFUSED: Final = 2  # as argparse ends for what is no command
_UNREAD: Final = 128 + 13  # SIGPIPE, as shells have it
# As in `gc.set_threshold`. What imports make stays: to look at it again with each generation is a
# tenth of a start. The youngest are looked at, as each class of attrs leaves one that is garbage.
_LOOKS: Final = (5000, 1000, 1000)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command of `arguments` (the process's own, if None) and return its exit status."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given[:1] == ["--version"]:
        given[0] = "version"
    with _what_is_imported_stays():
        try:
            run, values = _found(given)
        except SystemExit as told:  # by a parser, which has printed help or what is wrong
            return int(told.code or 0)
        try:
            status = run(**values)
            sys.stdout.flush()
        except BrokenPipeError:
            return _unread()
        return status


def _unread() -> int:
    """Whoever read the output has left, as `head` does: the status of one who died of that."""
    # Else the interpreter would try once more to write what is left, and say that it cannot.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return _UNREAD


def _found(given: Sequence[str]) -> tuple[Callable[..., int], Mapping[str, Any]]:
    """The function of a command, and its arguments. Raises SystemExit."""
    for words in (1, 2):
        name = " ".join(given[:words])
        if name in COMMANDS:
            module, _, function = COMMANDS[name][0].partition(":")
            file = import_module(module)
            return _parsed(name, file, getattr(file, function), given[words:])
    if given and given[0] not in _own_words() and not given[0].startswith("-"):
        found = _contributed(given)
        if found is not None:
            return found
    listing = _listing()
    listing.parse_args(given or ["--help"])
    return listing.error("want a command first")


def _contributed(
    given: Sequence[str],
) -> tuple[Callable[..., int], Mapping[str, Any]] | None:
    """A plugin's command. Raises SystemExit."""
    from trio_kafka.cli.contributed import (  # noqa: PLC0415 - not for a command that is ours
        CommandError,
        find_contributed,
        load_command,
        missing,
    )

    group = find_contributed(given[0], _own_words())
    if group is None:
        return None
    if group.error:
        _refuse(group.word, f"{group.error} ({group.source})")
    found = group.find(given)
    if found is None:
        return None
    name, place = found
    try:
        file, run = load_command(group, name, place)
    except CommandError as error:
        _refuse(name, str(error))

    def run_it(**values: Any) -> int:
        try:
            return run(**values)
        except ModuleNotFoundError as error:
            print(f"{_PROGRAM} {name}: {missing(group, error)}", file=sys.stderr)
            return REFUSED

    _, values = _parsed(name, file, run, given[len(name.split()) :])
    return run_it, values


def _refuse(name: str, reason: str) -> NoReturn:
    print(f"{_PROGRAM} {name}: {reason}", file=sys.stderr)
    raise SystemExit(REFUSED)


def _parsed(
    name: str, file: Any, run: Callable[..., int], rest: Sequence[str]
) -> tuple[Callable[..., int], Mapping[str, Any]]:
    parser = _parser(f"{_PROGRAM} {name}", run.__doc__)
    file.declare(parser)
    # Files and options may stand in any order.
    return run, vars(parser.parse_intermixed_args(rest))


def _own_words() -> set[str]:
    return {name.partition(" ")[0] for name in COMMANDS}


def _listing() -> ArgumentParser:
    """Knows the commands' names, and prints them."""
    from trio_kafka.cli.contributed import contributed  # noqa: PLC0415 - not for a command

    top = _parser(_PROGRAM, "A Kafka broker as one tree of structured concurrency.")
    top.add_argument("--version", action="store_true", help="print the version and exit")
    named = {"": top.add_subparsers(required=True, metavar="COMMAND")}
    for name, (_, line) in COMMANDS.items():
        group, _, command = name.rpartition(" ")
        if group not in named:
            about = _GROUPS[group]
            inner = named[""].add_parser(group, help=about, description=about)
            named[group] = inner.add_subparsers(required=True, metavar="COMMAND")
        named[group].add_parser(command, help=line)
    refused = []
    for one in contributed(_own_words()):
        if one.error:
            refused.append(f"{one.word}: {one.error} ({one.source})")
        elif one.commands:
            _list_contributed(one, named[""])
    if refused:
        top.epilog = f"commands that cannot be used: {'; '.join(refused)}"
    return top


def _list_contributed(group: "Contributed", listing: Any) -> None:
    if "" in group.commands:
        listing.add_parser(group.word, help=_plain(group.commands[""][1]))
        return
    about = _plain(group.about)
    inner = listing.add_parser(group.word, help=about, description=about)
    below = inner.add_subparsers(required=True, metavar="COMMAND")
    for command, (_, line) in group.commands.items():
        below.add_parser(command, help=_plain(line))


def _plain(line: str) -> str:
    """A line of a plugin's: argparse would format its percent signs."""
    return line.replace("%", "%%")


def _parser(name: str, description: str | None) -> ArgumentParser:
    return ArgumentParser(name, description=description, allow_abbrev=False)


@contextmanager
def _what_is_imported_stays() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(*_LOOKS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
