"""Providers of secrets: values looked up at the start, `${provider:path:key}` in a setting.

`config.providers` names the providers. `env`, `file` and `directory` need no class; another name
chooses one of Kafka's three with `config.providers.<name>.class`. A looked-up value is not expanded
again, and never appears in a message: it may be a secret. Source: KIP-297, KIP-421 (use by
brokers), KIP-887 (environment), KIP-993 (allowed.paths).
"""

import posixpath
import re
from collections.abc import Callable, Mapping
from typing import Final, Protocol

import attrs

from trio_kafka.config.catalogue import is_of_provider
from trio_kafka.config.properties import SettingText, parse_properties
from trio_kafka.config.setting import ConfigError

_SETTING: Final = "config.providers"
_VARIABLE: Final = re.compile(r"\$\{([^:}]*):(?:([^:}]*):)?([^}]*)\}")


class Outside(Protocol):
    """Machine as providers see it."""

    @property
    def variables(self) -> Mapping[str, str]:
        """Variables of the environment."""

    def read(self, path: str) -> str:
        """Return the text of a UTF-8 file. Raises OSError, or ValueError for another encoding."""

    def is_file(self, path: str) -> bool:
        """Return whether there is a regular file."""

    def exists(self, path: str) -> bool:
        """Return whether there is a file or directory."""


Lookup = Callable[[str, str], str | None]
"""The value of a path and a key; None: there is none. Raises ValueError, OSError."""

Parameters = Mapping[str, str]


def resolve(texts: Mapping[str, SettingText], outside: Outside | None) -> dict[str, SettingText]:
    """Replace every provider's variable in the settings by its value.

    outside: None where settings do not come from an operator: providers are rejected then.
    Variables of unknown providers stay as they are, as in Kafka. Raises ConfigError for a variable
    that cannot be looked up.
    """
    lookups = _providers(texts, outside)
    if not lookups:
        return dict(texts)
    return {
        name: value if name == _SETTING or is_of_provider(name) else _resolved(name, value, lookups)
        for name, value in texts.items()
    }


def _resolved(name: str, value: SettingText, lookups: Mapping[str, Lookup]) -> SettingText:
    def look_up(match: re.Match[str]) -> str:
        provider, path, key = match[1], match[2] or "", match[3]
        if provider not in lookups:
            return match[0]
        try:
            text = lookups[provider](path, key)
        except OSError as error:
            raise ConfigError(name, f"{match[0]}: {error.strerror}", value.where) from None
        except ValueError as error:
            raise ConfigError(name, f"{match[0]}: {error}", value.where) from None
        if text is None:
            raise ConfigError(name, f"{match[0]}: no value was found", value.where)
        return text

    text = _VARIABLE.sub(look_up, value.text)
    looked_up = any(match[1] in lookups for match in _VARIABLE.finditer(value.text))
    return attrs.evolve(value, text=text, written=value.text) if looked_up else value


def _providers(texts: Mapping[str, SettingText], outside: Outside | None) -> dict[str, Lookup]:
    names = texts[_SETTING].text.split(",") if _SETTING in texts else []
    lookups = {}
    for name in filter(None, map(str.strip, names)):
        if outside is None:
            raise ConfigError(_SETTING, "only settings of a broker's operator can look values up")
        prefix = f"{_SETTING}.{name}."
        own = {k.removeprefix(prefix): v for k, v in texts.items() if k.startswith(prefix)}
        lookups[name] = _provider(name, own, outside)
    return lookups


def _provider(name: str, own: Mapping[str, SettingText], outside: Outside) -> Lookup:
    cls = own["class"].text.strip() if "class" in own else name
    if cls not in _KINDS:
        if "class" in own:
            reason = f"{cls!r} is not supported: want one of {', '.join(_CLASSES)}"
            raise ConfigError(f"{_SETTING}.{name}.class", reason, own["class"].where)
        raise ConfigError(
            _SETTING, f"{name!r} is not env, file or directory: set {_SETTING}.{name}.class"
        )
    make, parameter = _KINDS[cls]
    for key, value in own.items():
        if key not in ("class", f"param.{parameter}"):
            setting = f"{_SETTING}.{name}.{key}"
            raise ConfigError(
                setting, f"is not a parameter of this provider: want param.{parameter}", value.where
            )
    key = f"param.{parameter}"
    try:
        return make(own[key].text if key in own else None, outside)
    except ValueError as error:
        raise ConfigError(f"{_SETTING}.{name}.{key}", str(error), own[key].where) from None


def _of_environment(pattern: str | None, outside: Outside) -> Lookup:
    try:
        allowed = re.compile(".*" if pattern is None else pattern)
    except re.error as error:
        raise ValueError(f"is not a regular expression: {error}") from None

    def look_up(path: str, key: str) -> str | None:
        if path:
            raise ValueError("the environment has no paths: want ${provider:key}")
        return outside.variables.get(key) if allowed.fullmatch(key) else None

    return look_up


def _of_files(paths: str | None, outside: Outside) -> Lookup:
    allowed = _allowed(paths, outside)

    def look_up(path: str, key: str) -> str | None:
        file = allowed(path)
        try:
            values = parse_properties(outside.read(file), file)
        except ConfigError as error:
            raise ValueError(f"{error.where}: cannot be read") from None
        return values[key].text if key in values else None

    return look_up


def _of_directories(paths: str | None, outside: Outside) -> Lookup:
    allowed = _allowed(paths, outside)

    def look_up(path: str, key: str) -> str | None:
        directory = allowed(path)
        if "/" in key or key in ("", ".", ".."):
            return None
        file = posixpath.join(directory, key)
        return outside.read(file) if outside.is_file(file) else None

    return look_up


def _allowed(paths: str | None, outside: Outside) -> Callable[[str], str]:
    """Return a function that normalizes a path below `paths`, or raises ValueError."""
    roots = [posixpath.normpath(root) for root in paths.split(",")] if paths else None
    for root in roots or ():
        if not posixpath.isabs(root):
            raise ValueError(f"{root} is not absolute: want a path that begins with /")
        if not outside.exists(root):
            raise ValueError(f"{root} does not exist")

    def allowed(path: str) -> str:
        if not path:
            raise ValueError("has no path: want ${provider:path:key}")
        if roots is None:
            return path
        plain = posixpath.normpath(path)
        if not any(
            posixpath.commonpath((plain, root)) == root for root in roots if plain[0] == "/"
        ):
            raise ValueError("the path is not below allowed.paths")
        return plain

    return allowed


_JAVA: Final = "org.apache.kafka.common.config.provider"
_ALLOWED: Final = "allowed.paths"
_BUILT_IN: Final[Mapping[str, tuple[str, Callable[[str | None, Outside], Lookup], str]]] = {
    "env": (f"{_JAVA}.EnvVarConfigProvider", _of_environment, "allowlist.pattern"),
    "file": (f"{_JAVA}.FileConfigProvider", _of_files, _ALLOWED),
    "directory": (f"{_JAVA}.DirectoryConfigProvider", _of_directories, _ALLOWED),
}
_CLASSES: Final = tuple(cls for cls, _, _ in _BUILT_IN.values())
# By name, for one that has no class, and by class.
_KINDS: Final = {
    called: (make, parameter)
    for name, (cls, make, parameter) in _BUILT_IN.items()
    for called in (name, cls)
}
