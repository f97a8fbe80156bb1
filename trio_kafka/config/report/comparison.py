"""Comparison of two configurations: settings that differ, with the source of each value."""

from collections.abc import Iterable, Iterator, Mapping

from trio_kafka.attributes import frozen
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.catalogue import every_setting, setting_of
from trio_kafka.config.dynamic import Layers, value_of
from trio_kafka.config.report.explain import HIDDEN, UNSET, shown_value, source_of


@frozen(kw_only=True)
class Entry:
    """Value of a setting on one side.

    value: None: not set, or not `comparable`.
    comparable: whether the value can be compared; a running broker hides its secrets.
    is_set: whether the value was set. A default does not differ from a side that lacks the name, as
    a running broker lacks internal settings.
    shown: the value as it may be shown. source: its source, in words.
    """

    value: str | None
    shown: str
    source: str
    comparable: bool = True
    is_set: bool = True


Side = Mapping[str, Entry]
"""Entries by name. A name that is missing is not set there."""

_MISSING = Entry(value=None, shown=UNSET, source="not there", is_set=False)


def side_of(config: BrokerConfig) -> Side:
    """Return the side of a loaded configuration, with every setting."""
    layers = Layers(config=config)
    return {name: _entry(name, layers) for name in {**every_setting(), **config.texts}}


def side_of_broker(rows: Iterable[tuple[str, str | None, str, bool]]) -> Side:
    """Return the side of a running broker from rows of name, value, source, and secrecy."""
    return {
        name: Entry(
            value=value,
            shown=HIDDEN if secret else UNSET if value is None else value or '""',
            source=source,
            comparable=not secret,
        )
        for name, value, source, secret in rows
    }


def differences(first: Side, other: Side) -> Iterator[tuple[str, Entry, Entry]]:
    """Yield names with different values, sorted. A hidden value does not differ."""
    for name in sorted(first.keys() | other.keys()):
        before, after = first.get(name, _MISSING), other.get(name, _MISSING)
        if before is _MISSING or after is _MISSING:
            differ = before.is_set or after.is_set
        else:
            differ = before.comparable and after.comparable
        if differ and before.value != after.value:
            yield name, before, after


def not_comparable(first: Side, other: Side) -> list[str]:
    """Return names that cannot be compared, since one side hides a value that is set."""
    names = first.keys() & other.keys()
    return sorted(
        name
        for name in names
        if first[name].comparable != other[name].comparable
        and (first[name].value is not None or other[name].value is not None)
    )


def _entry(name: str, layers: Layers) -> Entry:
    setting = setting_of(name)
    text = layers.config.texts.get(name)
    if setting is None:
        # A plugin's may be a secret: only the plugin knows.
        shown = text.written if text and text.written is not None else HIDDEN
        value = text.text if text else ""
        return Entry(value=value, shown=shown, source=source_of(name, layers))
    return Entry(
        value=setting.text_of(value_of(name, layers)),
        shown=shown_value(name, layers),
        source=source_of(name, layers),
        is_set=text is not None,
    )
