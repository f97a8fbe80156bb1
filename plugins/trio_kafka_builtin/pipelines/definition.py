"""One pipeline as its TOML file defines it: a command, where and how it runs, when it restarts."""

import re
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Final, Literal, TypeGuard, get_args

from attrs import Factory

from trio_kafka.attributes import frozen

Restart = Literal["on-failure", "always", "never"]
RESTARTS: Final[tuple[Restart, ...]] = get_args(Restart)
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
    """Command of a pipeline, its environment, and when it restarts.

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
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise DefinitionError(f"no TOML: {error}") from None
    for key in table:
        if key not in KEYS:
            near = get_close_matches(key, KEYS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"want one of {', '.join(KEYS)}"
            raise DefinitionError(f"unknown key {key!r}: {hint}")
    definition = Definition(
        name=name,
        command=_command(table.get("command")),
        directory=_below(directory, table.get("directory", ".")),
        environment=_environment(table.get("environment", {})),
        restart=_restart(table.get("restart", "on-failure")),
        enabled=_enabled(table.get("enabled", True)),
        **{key: _seconds(key, table[key]) for key in _SECONDS if key in table},
    )
    if definition.longest_pause_s < definition.pause_s:
        raise DefinitionError(
            f"longest_pause_s is {definition.longest_pause_s:g}, want at least pause_s,"
            f" {definition.pause_s:g}"
        )
    return definition


def _command(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(map(_is_word, value)) or not value[0]:
        raise DefinitionError(
            f'command is {_shown(value)}, want a list of texts, such as ["python", "app.py"]'
        )
    return tuple(value)


def _is_word(value: object) -> TypeGuard[str]:
    """Return True for a text that can be an argument or a variable."""
    return isinstance(value, str) and "\0" not in value


def _below(directory: str, path: object) -> str:
    if not _is_word(path) or not path:
        raise DefinitionError(f"directory is {_shown(path)}, want a path")
    if path.startswith("/"):
        return path
    return directory if path == "." else f"{directory}/{path}"


def _environment(variables: object) -> Mapping[str, str]:
    if not isinstance(variables, dict):
        raise DefinitionError(f"environment is {_shown(variables)}, want a table of texts")
    for key, value in variables.items():
        if not _VARIABLE.fullmatch(key):
            raise DefinitionError(f"environment: {key[:80]!r} is not a variable name")
        if key.startswith(OURS):
            raise DefinitionError(f"environment: {key[:80]} is set by the broker")
        if not _is_word(value):
            kind = type(value).__name__  # not the value: it may be a secret
            raise DefinitionError(f"environment: {key} is a {kind}, want a text")
    return variables


def _restart(policy: object) -> Restart:
    for restart in RESTARTS:
        if restart == policy:
            return restart
    raise DefinitionError(f"restart is {_shown(policy)}, want one of {', '.join(RESTARTS)}")


def _enabled(value: object) -> bool:
    if not isinstance(value, bool):
        raise DefinitionError(f"enabled is {_shown(value)}, want true or false")
    return value


def _seconds(key: str, value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _LONGEST_S:
        return float(value)
    raise DefinitionError(f"{key} is {_shown(value)}, want seconds from 0 to {_LONGEST_S:g}")


def _shown(value: object) -> str:
    return "not set" if value is None else repr(value)[:80]
