"""Words that can stand where a command line ends: commands, options, and live names."""

import shlex
from argparse import Action, ArgumentParser
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Final

from trio_kafka.cli.commands import COMMANDS
from trio_kafka.cli.completion.live import NAMES

_PROGRAM: Final = "trio-kafka"
_MANY: Final = ("*", "+")


def print_candidates(arguments: Sequence[str]) -> int:
    """Print the candidates of a command line, one a line. Nothing goes wrong aloud.

    arguments: `--` and the words after the program's name, of which the last is being written; or
    `--line` and the line up to the cursor.
    """
    if arguments[:1] == ["--line"]:
        words = words_of(arguments[1] if len(arguments) > 1 else "")
    else:
        words = list(arguments[1:]) or [""]
    for candidate in candidates(words):
        print(candidate)
    return 0


def words_of(line: str) -> list[str]:
    """Return the words of a line after the program's name; the last one is being written."""
    try:
        words = shlex.split(line)
    except ValueError:  # an open quote
        words = line.split()
    if not line or line[-1].isspace():
        words.append("")
    for number, word in enumerate(words):
        if word.rpartition("/")[2] == _PROGRAM:
            return words[number + 1 :] or [""]
    return words


def candidates(words: Sequence[str]) -> list[str]:
    """Return what the last word can become, sorted."""
    *before, current = words
    for length in (1, 2):
        name = " ".join(before[:length])
        if name in COMMANDS:
            return _that_begin(current, _arguments(name, before[length:], current))
    if not before:
        return _that_begin(current, {name.partition(" ")[0] for name in COMMANDS})
    inner = {name.partition(" ")[2] for name in COMMANDS if name.startswith(f"{before[0]} ")}
    return _that_begin(current, inner if len(before) == 1 else ())


def _that_begin(current: str, names: Iterable[str]) -> list[str]:
    return sorted({name for name in names if name.startswith(current)})


def _arguments(name: str, before: Sequence[str], current: str) -> Iterable[str]:
    """Return the candidates among the arguments of a command."""
    parser = ArgumentParser(_PROGRAM, add_help=True, allow_abbrev=False)
    import_module(COMMANDS[name][0].partition(":")[0]).declare(parser)
    actions = parser._actions  # noqa: SLF001 - argparse has no public list of them
    options = {option: action for action in actions for option in action.option_strings}
    positionals = [action for action in actions if not action.option_strings]
    number, option = 0, None
    for word in before:
        if option is not None:
            option = None
        elif word in options and options[word].nargs != 0:
            option = options[word]
        elif not word.startswith("-"):
            number += 1
    if option is not None:
        return _values(name, option, before)
    if current.startswith("-"):
        return options
    if not positionals:
        return ()
    last = positionals[-1]
    if number >= len(positionals) and last.nargs not in _MANY:
        return ()
    return _values(name, positionals[min(number, len(positionals) - 1)], before)


def _values(name: str, action: Action, before: Sequence[str]) -> Iterable[str]:
    """Return the values that an option or argument can have, as far as they can be known."""
    if action.choices is not None:
        return [str(choice) for choice in action.choices]
    kind = "profile" if name.startswith("profile ") and action.dest == "name" else action.dest
    return NAMES[kind](before) if kind in NAMES else ()
