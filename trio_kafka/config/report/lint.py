"""Errors and warnings of a configuration, all at once.

Names and values are checked one by one. Contradictions are searched only when each value is right.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum

from trio_kafka.attributes import frozen
from trio_kafka.config.catalogue import BROKER_SETTINGS, base_of, is_of_provider
from trio_kafka.config.load import Layer, check_name, load, locate_error
from trio_kafka.config.properties import Given
from trio_kafka.config.setting import ConfigError
from trio_kafka.config.sources.providers import Outside, resolve
from trio_kafka.config.unsupported import deprecated_settings


class Level(Enum):
    """Severity: an error keeps a broker from starting, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


@frozen
class Finding:
    """One error or warning. where: None for a missing setting."""

    level: Level
    where: str | None
    text: str

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.where, self.level.value, self.text)))


def lint(layers: Sequence[Layer], outside: Outside | None = None) -> list[Finding]:
    """Return findings about layers, lowest first, in the order of given names."""
    given: dict[str, Given] = {}
    for layer in layers:
        given |= layer
    try:
        given = resolve(given, outside)
    except ConfigError as error:
        return [_error(error, given)]
    found = [one for name in given for one in _of_one(name, given)]
    found += _overshadowed(given)
    found += _of_no_provider(given)
    if all(one.level is not Level.ERROR for one in found):
        try:
            load(*layers, outside=outside)
        except ConfigError as error:
            found.append(_error(error, given))
    return found


def repeated(pairs: Sequence[tuple[str, Given]]) -> list[Finding]:
    """Return findings about repeated names in one file; pairs are in the file's order."""
    last = dict(pairs)
    return [
        Finding(Level.WARNING, one.where, f"{name} is given again at {last[name].where}")
        for name, one in pairs
        if one is not last[name]
    ]


def _of_one(name: str, given: Mapping[str, Given]) -> Iterator[Finding]:
    one = given[name]
    try:
        ignored = check_name(name, one)
        if name in BROKER_SETTINGS:
            BROKER_SETTINGS[name].parse(one.text)
    except ConfigError as error:
        yield _error(error, given)
        return
    if ignored:
        yield Finding(Level.WARNING, one.where, f"{name} {ignored}")
    if instead := deprecated_settings().get(base_of(name)):
        yield Finding(Level.WARNING, one.where, f"{name} is deprecated: {instead}")


def _overshadowed(given: Mapping[str, Given]) -> Iterator[Finding]:
    """Yield settings without an effect because another setting of the same meaning is given."""
    families = {setting.synonyms for setting in BROKER_SETTINGS.values() if setting.synonyms}
    for names in (*sorted(families), ("log.dirs", "log.dir"), ("node.id", "broker.id")):
        winner, *others = [name for name in names if name in given] or [""]
        for name in others:
            # The scheduler's interval has a meaning of its own.
            if name != "log.flush.scheduler.interval.ms":
                text = f"{name} has no effect beside {winner}, which is given at"
                yield Finding(Level.WARNING, given[name].where, f"{text} {given[winner].where}")


def _of_no_provider(given: Mapping[str, Given]) -> Iterator[Finding]:
    """Yield settings of providers that `config.providers` does not name."""
    names = given["config.providers"].text.split(",") if "config.providers" in given else []
    known = {name.strip() for name in names}
    for name, one in given.items():
        if is_of_provider(name) and name.split(".")[2] not in known:
            text = f"{name} has no effect: config.providers does not name {name.split('.')[2]}"
            yield Finding(Level.WARNING, one.where, text)


def _error(error: ConfigError, given: Mapping[str, Given]) -> Finding:
    shown = locate_error(error, given)
    return Finding(Level.ERROR, shown.where, f"{shown.name}: {shown.reason}")
