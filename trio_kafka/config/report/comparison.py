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

    value: None: not set, or not `known`.
    known: whether the value can be compared; a running broker hides its secrets.
    given: whether the value was set. A default does not differ from a side that lacks the name, as
    a running broker lacks internal settings.
    shown: the value as it may be shown. source: its source, in words.
    """

    value: str | None
    shown: str
    source: str
    known: bool = True
    given: bool = True


Side = Mapping[str, Entry]
"""Entries by name. A name that is missing is not set there."""

_MISSING = Entry(value=None, shown=UNSET, source="not there", given=False)


def side_of(config: BrokerConfig) -> Side:
    """Return the side of a loaded configuration, with every setting."""
    layers = Layers(config=config)
    return {name: _entry(name, layers) for name in {**every_setting(), **config.given}}


def side_of_broker(rows: Iterable[tuple[str, str | None, str, bool]]) -> Side:
    """Return the side of a running broker from rows of name, value, source, and secrecy."""
    return {
        name: Entry(
            value=value,
            shown=HIDDEN if secret else UNSET if value is None else value or '""',
            source=source,
            known=not secret,
        )
        for name, value, source, secret in rows
    }


def differences(one: Side, other: Side) -> Iterator[tuple[str, Entry, Entry]]:
    """Yield names with different values, sorted. A hidden value does not differ."""
    for name in sorted(one.keys() | other.keys()):
        left, right = one.get(name, _MISSING), other.get(name, _MISSING)
        if left is _MISSING or right is _MISSING:
            told = left.given or right.given
        else:
            told = left.known and right.known
        if told and left.value != right.value:
            yield name, left, right


def not_comparable(one: Side, other: Side) -> list[str]:
    """Return names that cannot be compared, since one side hides a value that is set."""
    names = one.keys() & other.keys()
    return sorted(
        name
        for name in names
        if one[name].known != other[name].known
        and (one[name].value is not None or other[name].value is not None)
    )


def _entry(name: str, layers: Layers) -> Entry:
    setting = setting_of(name)
    given = layers.config.given.get(name)
    if setting is None:
        # A plugin's may be a secret: only the plugin knows.
        text = given.text if given else ""
        shown = given.written if given and given.written is not None else HIDDEN
        return Entry(value=text, shown=shown, source=source_of(name, layers))
    return Entry(
        value=setting.text_of(value_of(name, layers)),
        shown=shown_value(name, layers),
        source=source_of(name, layers),
        given=given is not None,
    )
