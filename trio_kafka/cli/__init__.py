"""The command `trio-kafka`: one file per command, imported when the command runs.

This module imports only what finds the command, so that a start pays for nothing else. Commands of
plugins are found by `trio_kafka.cli.contributed`. The file of a command has `declare`, which
declares the arguments to a parser, and a function that takes them by name and returns the exit
status, or raises CommandFailedError. The docstring of the function is the command's help text.
"""

import os
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Final, NoReturn

from trio_kafka.cli.commands import COMMANDS, FIRST_COMMANDS, GROUPS
from trio_kafka.rare_collections import rare_collections

if TYPE_CHECKING:
    from argparse import _SubParsersAction  # argparse has no public name for this class

    from trio_kafka.cli.contributed import Contributed

__all__ = [
    "FAILED",
    "REJECTED",
    "CommandFailedError",
    "broker_options",
    "cluster_address",
    "http_address",
    "http_client",
    "main",
    "output",
]

COMPLETE: Final = "__complete"  # what the scripts of `trio-kafka completion` run
LATER: Final = "later "
"""Begins names of functions among the values of a parser, which change values when all are known.

They may raise CommandFailedError."""
_PROGRAM: Final = "trio-kafka"
FAILED: Final = 1  # exit status of a command that could not do its work
# Exit status of argparse for a wrong command line, and of commands for wrong settings. Kafka's own
# tools end with 1 for these; 2 sets them apart from a failure.
REJECTED: Final = 2
_INTERRUPTED: Final = 128 + 2  # SIGINT
_BROKEN_PIPE: Final = 128 + 13  # SIGPIPE, as shells report it

Invocation = tuple[Callable[..., int], Mapping[str, object]]
"""The function of a command, and its arguments."""


class CommandFailedError(Exception):
    """End of a command: the message is one line for the user, `status` the exit status."""

    def __init__(self, reason: str, status: int = REJECTED) -> None:
        super().__init__(reason)
        self.status = status


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status.

    arguments: None: those of the process.
    """
    words = sys.argv[1:] if arguments is None else list(arguments)
    if words[:1] == ["--version"]:
        words[0] = "version"
    with rare_collections(ends=arguments is None):
        try:
            return _run(words)
        except BrokenPipeError:
            return _end_unread()
        except CommandFailedError as error:
            return _end_failed(error)


def _run(words: Sequence[str]) -> int:
    if words[:1] == [COMPLETE]:
        from trio_kafka.cli.completion.candidates import (  # noqa: PLC0415 - only for shells
            print_candidates,
        )

        return print_candidates(words[1:])
    try:
        run, values = _find(words)
        sys.stdout.flush()
    except SystemExit as ended:  # by a parser, which has printed help or an error
        return int(ended.code or 0)
    try:
        status = run(**values)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print(f"{_PROGRAM}: interrupted", file=sys.stderr)
        return _INTERRUPTED
    return status


def _end_failed(error: CommandFailedError) -> int:
    from trio_kafka.protocol.texts import printable  # noqa: PLC0415 - only for errors

    # The text may come from a broker: it cannot command the terminal.
    print(f"{_PROGRAM}: {printable(str(error))}", file=sys.stderr)
    return error.status


def _end_unread() -> int:
    """Return the status of a process that died of SIGPIPE: the reader, such as `head`, has left."""
    # Without this the interpreter would flush standard output at its end, and print an error.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return _BROKEN_PIPE


def _find(words: Sequence[str]) -> Invocation:
    """Return a command and its arguments. Raises SystemExit."""
    for length in (1, 2):
        name = " ".join(words[:length])
        if name in COMMANDS:
            module, _, function = COMMANDS[name][0].partition(":")
            file = import_module(module)
            return _parse(name, file, getattr(file, function), rest=words[length:])
    if not words:
        print(FIRST_COMMANDS)
        raise SystemExit(0)
    if words[0].startswith("-"):
        _list_commands(words)
    first = words[0]
    if first not in _own_words():
        command = _find_contributed(words)
        if command is not None:
            return command
    elif len(words) > 1 and not words[1].startswith("-"):
        inner = [name.partition(" ")[2] for name in COMMANDS if name.startswith(f"{first} ")]
        _refuse_unknown(words[1], inner, group=first)
    return _list_commands(words)


def _list_commands(words: Sequence[str]) -> NoReturn:
    """Print help, or the error in options before a command. Raises SystemExit."""
    listing = _listing()
    listing.parse_args(words)
    listing.error("no command given: give one of those that `trio-kafka --help` lists")


def _find_contributed(words: Sequence[str]) -> Invocation | None:
    """Return a plugin's command; None: show the list of its group. Raises SystemExit."""
    from trio_kafka.cli.contributed import (  # noqa: PLC0415 - built-in commands do without
        CommandError,
        contributed,
        find_contributed,
        load_command,
        missing,
    )

    own = _own_words()
    group = find_contributed(words[0], own)
    if group is None:
        names = {word: word for word in sorted(own)}
        names |= {name.rpartition(" ")[2]: name for name in COMMANDS}
        names |= {word: word for word in own}
        names |= {other.word: other.word for other in contributed(own) if other.commands}
        _refuse_unknown(words[0], names)
    if group.error:
        _refuse(group.word, f"{group.error} ({group.source})")
    command = group.find(words)
    if command is None:
        if len(words) > 1 and not words[1].startswith("-"):
            _refuse_unknown(words[1], list(group.commands), group=group.word)
        return None
    name, place = command
    try:
        file, run = load_command(group, name, place)
    except CommandError as error:
        _refuse(name, str(error))

    def run_it(**values: object) -> int:
        try:
            return run(**values)
        except ModuleNotFoundError as error:
            print(f"{_PROGRAM} {name}: {missing(group, error)}", file=sys.stderr)
            return REJECTED

    _, values = _parse(name, file, run, rest=words[len(name.split()) :])
    return run_it, values


def _refuse(name: str, reason: str) -> NoReturn:
    print(f"{_PROGRAM} {name}: {reason}", file=sys.stderr)
    raise SystemExit(REJECTED)


def _refuse_unknown(
    word: str, candidates: Iterable[str] | Mapping[str, str], *, group: str = ""
) -> NoReturn:
    """Print that a word is not a command, with the nearest command. Raises SystemExit.

    candidates: words, perhaps each with the full name to show.
    """
    names = (
        candidates
        if isinstance(candidates, Mapping)
        else {candidate: candidate for candidate in candidates}
    )
    where = f"{_PROGRAM} {group}".rstrip()
    near = _nearest(word, names)
    hint = f"did you mean {names[near]!r}?" if near else f"`{where} --help` lists the commands"
    print(f"usage: {where} [-h] COMMAND ...", file=sys.stderr)
    print(f"{where}: error: unknown command {word!r}; {hint}", file=sys.stderr)
    raise SystemExit(REJECTED)


def _nearest(word: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate that is most like a word; of equal ones the first."""
    from difflib import SequenceMatcher, get_close_matches  # noqa: PLC0415 - only for errors

    order = list(candidates)
    matches = get_close_matches(word, order, n=len(order) or 1)
    ratios = {candidate: SequenceMatcher(None, candidate, word).ratio() for candidate in matches}
    return min(
        matches, key=lambda candidate: (-ratios[candidate], order.index(candidate)), default=None
    )


def _parse(
    name: str, file: ModuleType, run: Callable[..., int], *, rest: Sequence[str]
) -> Invocation:
    parser = _parser(f"{_PROGRAM} {name}", run.__doc__)
    file.declare(parser)
    # Files and options may stand in any order.
    namespace, unknown = parser.parse_known_intermixed_args(rest)
    if unknown:
        _refuse_extra(parser, unknown)
    values = vars(namespace)
    for key in [key for key in values if key.startswith(LATER)]:
        values.pop(key)(values)
    return run, values


def _refuse_extra(parser: ArgumentParser, unknown: Sequence[str]) -> NoReturn:
    """Print which arguments are unknown, and the option nearest to the first. Raises SystemExit."""
    from re import findall  # noqa: PLC0415 - only for errors

    option = unknown[0].partition("=")[0]
    near = _nearest(option, findall(r"--[\w-]+", parser.format_help()))
    hint = f"; did you mean {near}?" if near and option.startswith("-") else ""
    parser.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")


def _own_words() -> set[str]:
    return {name.partition(" ")[0] for name in COMMANDS}


def _listing() -> ArgumentParser:
    """Return a parser that knows the names of all commands, to print them."""
    from trio_kafka.cli.contributed import contributed  # noqa: PLC0415 - as above

    top = _parser(_PROGRAM, "A Kafka broker as one tree of structured concurrency.")
    top.add_argument("--version", action="store_true", help="print the version and exit")
    named = {"": top.add_subparsers(required=True, metavar="COMMAND")}
    for name, (_, line) in COMMANDS.items():
        group, _, command = name.rpartition(" ")
        if group not in named:
            about = GROUPS[group]
            inner = named[""].add_parser(group, help=about, description=about)
            named[group] = inner.add_subparsers(required=True, metavar="COMMAND")
        named[group].add_parser(command, help=line)
    refused = []
    for plugin_group in contributed(_own_words()):
        if plugin_group.error:
            refused.append(f"{plugin_group.word}: {plugin_group.error} ({plugin_group.source})")
        elif plugin_group.commands:
            _list_contributed(plugin_group, named[""])
    if refused:
        top.epilog = f"commands that cannot be used: {'; '.join(refused)}"
    return top


def _list_contributed(group: "Contributed", listing: "_SubParsersAction[ArgumentParser]") -> None:
    if "" in group.commands:
        listing.add_parser(group.word, help=_escaped(group.commands[""][1]))
        return
    about = _escaped(group.about)
    inner = listing.add_parser(group.word, help=about, description=about)
    below = inner.add_subparsers(required=True, metavar="COMMAND")
    for command, (_, line) in group.commands.items():
        below.add_parser(command, help=_escaped(line))


def _escaped(line: str) -> str:
    """Return a plugin's line with its percent signs escaped, since argparse would format them."""
    return line.replace("%", "%%")


def _parser(name: str, description: str | None) -> ArgumentParser:
    return ArgumentParser(name, description=description, allow_abbrev=False)
