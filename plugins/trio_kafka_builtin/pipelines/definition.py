"""One pipeline as its TOML file defines it: a command, where and how it runs, when it restarts."""

import re
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Final, Literal, get_args

from attrs import Factory

from trio_kafka.attributes import frozen

Restart = Literal["on-failure", "always", "never"]
RESTARTS: Final = get_args(Restart)
ENDING: Final = ".toml"
# Set by the broker for each child.
OURS: Final = "TRIO_KAFKA_PIPELINE"
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST_S: Final = 86_400.0


class DefinitionError(ValueError):
    """Unusable definition; the message names the key, what was found and what is wanted."""


@frozen(kw_only=True)
class Definition:
    """One pipeline.

    directory: where the command runs, absolute. pause_s: before the first restart; each further
    pause is twice as long, up to longest_pause_s, until a run lasts healthy_s. grace_s: from
    SIGTERM to SIGKILL. The environment may hold secrets and is not shown.
    """

    name: str
    command: tuple[str, ...]
    directory: str
    environment: Mapping[str, str] = Factory(dict)
    restart: Restart = "on-failure"
    pause_s: float = 1.0
    longest_pause_s: float = 60.0
    healthy_s: float = 60.0
    grace_s: float = 10.0
    enabled: bool = True

    def __repr__(self) -> str:
        return f"Definition(name={self.name!r}, command={self.command!r})"


_SECONDS: Final = ("pause_s", "longest_pause_s", "healthy_s", "grace_s")
KEYS: Final = ("command", "directory", "environment", "restart", *_SECONDS, "enabled")


def name_of(file: str) -> str:
    """Return the name of the pipeline that a file defines. Raises DefinitionError."""
    name = file.removesuffix(ENDING)
    if not _NAME.fullmatch(name):
        raise DefinitionError(
            f"file {file!r}: want a name of a-z, 0-9, _ and -, at most 63, before {ENDING}"
        )
    return name


def read_definition(name: str, text: str, directory: str) -> Definition:
    """Read a definition. directory: of the file, absolute. Raises DefinitionError."""
    try:
        given = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise DefinitionError(f"no TOML: {error}") from None
    for key in given:
        if key not in KEYS:
            near = get_close_matches(key, KEYS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"want one of {', '.join(KEYS)}"
            raise DefinitionError(f"unknown key {key!r}: {hint}")
    made = Definition(
        name=name,
        command=_command(given.get("command")),
        directory=_below(directory, given.get("directory", ".")),
        environment=_environment(given.get("environment", {})),
        restart=_restart(given.get("restart", "on-failure")),
        enabled=_enabled(given.get("enabled", True)),
        **{key: _seconds(key, given[key]) for key in _SECONDS if key in given},
    )
    if made.longest_pause_s < made.pause_s:
        raise DefinitionError(
            f"longest_pause_s is {made.longest_pause_s:g}, want at least pause_s, {made.pause_s:g}"
        )
    return made


def _command(given: Any) -> tuple[str, ...]:
    if not isinstance(given, list) or not given or not all(map(_is_word, given)) or not given[0]:
        raise DefinitionError(
            f'command is {_shown(given)}, want a list of texts, such as ["python", "app.py"]'
        )
    return tuple(given)


def _is_word(given: Any) -> bool:
    """Return True for a text that can be an argument or a variable."""
    return isinstance(given, str) and "\0" not in given


def _below(directory: str, given: Any) -> str:
    if not _is_word(given) or not given:
        raise DefinitionError(f"directory is {_shown(given)}, want a path")
    if given.startswith("/"):
        return str(given)
    return directory if given == "." else f"{directory}/{given}"


def _environment(given: Any) -> Mapping[str, str]:
    if not isinstance(given, dict):
        raise DefinitionError(f"environment is {_shown(given)}, want a table of texts")
    for key, value in given.items():
        if not _VARIABLE.fullmatch(key):
            raise DefinitionError(f"environment: {key[:80]!r} is not a variable name")
        if key.startswith(OURS):
            raise DefinitionError(f"environment: {key[:80]} is set by the broker")
        if not _is_word(value):
            kind = type(value).__name__  # not the value: it may be a secret
            raise DefinitionError(f"environment: {key} is a {kind}, want a text")
    return given


def _restart(given: Any) -> Restart:
    if given not in RESTARTS:
        raise DefinitionError(f"restart is {_shown(given)}, want one of {', '.join(RESTARTS)}")
    found: Restart = given
    return found


def _enabled(given: Any) -> bool:
    if not isinstance(given, bool):
        raise DefinitionError(f"enabled is {_shown(given)}, want true or false")
    return given


def _seconds(key: str, given: Any) -> float:
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if not is_number or not 0 <= given <= _LONGEST_S:
        raise DefinitionError(f"{key} is {_shown(given)}, want seconds from 0 to {_LONGEST_S:g}")
    return float(given)


def _shown(given: Any) -> str:
    return "not set" if given is None else repr(given)[:80]
