"""Values that no text shows, and `${env:NAME}` variables in them, which are looked up on use.

Options travel in plans and to executors. A Secret holds what the user wrote; where that has a
variable of a config provider, the value itself is read where it is needed, and travels nowhere.
"""

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka.config.jaas import HIDDEN
from trio_kafka.config.properties import parse_properties
from trio_kafka.config.setting import ConfigError
from trio_kafka_spark.client.errors import OptionError

_VARIABLE: Final = re.compile(r"\$\{(env|file|directory):(?:([^}:]*):)?([^}:]*)\}")


@frozen
class Secret:
    """Text of an option that is a password, or holds one; repr and str hide it."""

    option: str
    written: str = field(repr=lambda _: HIDDEN)

    def __str__(self) -> str:
        return HIDDEN

    @property
    def is_variable(self) -> bool:
        """The text needs a look-up, which only the machine that uses it can do."""
        return _VARIABLE.search(self.written) is not None

    def reveal(self) -> str:
        """The text itself. Raises OptionError for a variable that cannot be looked up here."""
        return resolve(self.option, self.written)


def resolve(option: str, text: str) -> str:
    """Replace `${env:NAME}`, `${file:PATH:KEY}` and `${directory:PATH:FILE}` by their values.

    They are the names under which Kafka's documentation declares its three config providers
    (KIP-297, KIP-887). Values are not looked into again. Raises OptionError: without any value.
    """

    def value_of(match: re.Match[str]) -> str:
        try:
            value = _PROVIDERS[match[1]](match[2] or "", match[3])
        except OSError as error:
            raise OptionError(option, f"{match[0]}: {error.strerror}") from None
        except (ConfigError, UnicodeDecodeError):
            raise OptionError(option, f"{match[0]}: the file cannot be parsed") from None
        if value is None:
            raise OptionError(option, f"{match[0]}: there is no such value on this machine")
        return value

    return _VARIABLE.sub(value_of, text)


def _environment(_path: str, key: str) -> str | None:
    return os.environ.get(key)


def _file(path: str, key: str) -> str | None:
    value = parse_properties(Path(path).read_text(encoding="utf-8"), path).get(key)
    return None if value is None else value.text


def _directory(path: str, key: str) -> str | None:
    if "/" in key or key in ("", ".", ".."):
        return None
    return (Path(path) / key).read_text(encoding="utf-8")


_PROVIDERS: Final[Mapping[str, Callable[[str, str], str | None]]] = {
    "env": _environment,
    "file": _file,
    "directory": _directory,
}
