"""Errors and warnings of a configuration, all at once.

Names and values are checked one by one. Contradictions are searched only when each value is right.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum

from trio_kafka.attributes import frozen
from trio_kafka.config.catalogue import BROKER_SETTINGS, base_of, is_of_provider
from trio_kafka.config.listener_warnings import listener_warnings
from trio_kafka.config.load import Layer, check_name, load, locate_error
from trio_kafka.config.properties import SettingText
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
    texts: dict[str, SettingText] = {}
    for layer in layers:
        texts |= layer
    try:
        texts = resolve(texts, outside)
    except ConfigError as error:
        return [_error(error, texts)]
    findings = [finding for name in texts for finding in _of_one(name, texts)]
    findings += _overshadowed(texts)
    findings += _of_no_provider(texts)
    if all(finding.level is not Level.ERROR for finding in findings):
        try:
            config = load(*layers, outside=outside).config
        except ConfigError as error:
            findings.append(_error(error, texts))
        else:
            ignored = listener_warnings(config)
            findings += [Finding(Level.WARNING, where, text) for where, text in ignored]
    return findings


def repeated(pairs: Sequence[tuple[str, SettingText]]) -> list[Finding]:
    """Return findings about repeated names in one file; pairs are in the file's order."""
    last = dict(pairs)
    return [
        Finding(Level.WARNING, text.where, f"{name} is given again at {last[name].where}")
        for name, text in pairs
        if text is not last[name]
    ]


def _of_one(name: str, texts: Mapping[str, SettingText]) -> Iterator[Finding]:
    text = texts[name]
    try:
        ignored = check_name(name, text)
        if name in BROKER_SETTINGS:
            BROKER_SETTINGS[name].parse(text.text)
    except ConfigError as error:
        yield _error(error, texts)
        return
    if ignored:
        yield Finding(Level.WARNING, text.where, f"{name} {ignored}")
    if instead := deprecated_settings().get(base_of(name)):
        yield Finding(Level.WARNING, text.where, f"{name} is deprecated: {instead}")


def _overshadowed(texts: Mapping[str, SettingText]) -> Iterator[Finding]:
    """Yield settings without an effect because another setting of the same meaning is given."""
    families = {setting.synonyms for setting in BROKER_SETTINGS.values() if setting.synonyms}
    for names in (*sorted(families), ("log.dirs", "log.dir"), ("node.id", "broker.id")):
        winner, *others = [name for name in names if name in texts] or [""]
        for name in others:
            # The scheduler's interval has a meaning of its own.
            if name != "log.flush.scheduler.interval.ms":
                text = f"{name} has no effect beside {winner}, which is given at"
                yield Finding(Level.WARNING, texts[name].where, f"{text} {texts[winner].where}")


def _of_no_provider(texts: Mapping[str, SettingText]) -> Iterator[Finding]:
    """Yield settings of providers that `config.providers` does not name."""
    names = texts["config.providers"].text.split(",") if "config.providers" in texts else []
    providers = {name.strip() for name in names}
    for name, setting in texts.items():
        if is_of_provider(name) and name.split(".")[2] not in providers:
            text = f"{name} has no effect: config.providers does not name {name.split('.')[2]}"
            yield Finding(Level.WARNING, setting.where, text)


def _error(error: ConfigError, texts: Mapping[str, SettingText]) -> Finding:
    shown = locate_error(error, texts)
    return Finding(Level.ERROR, shown.where, f"{shown.name}: {shown.reason}")
