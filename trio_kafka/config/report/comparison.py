"""Two configurations beside each other: which settings differ, and where each value is from."""

from collections.abc import Iterable, Iterator, Mapping

from trio_kafka.attributes import frozen
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.catalogue import every_setting, setting_of
from trio_kafka.config.dynamic import Layers, value_of
from trio_kafka.config.report.explain import HIDDEN, UNSET, shown_value, source_of


@frozen(kw_only=True)
class Entry:
    """A setting's value on one side.

    value: to compare; None: it is not set, or not `known`.
    known: the value is there to be compared: a running broker does not tell its secrets.
    given: somebody gave it. A default is no difference to a side that does not speak of the name,
        as a running broker does not of internal settings.
    shown: the value as it may be shown; `source`: where it is from, in words.
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
    """A configuration that was read; every setting is there."""
    layers = Layers(config=config)
    return {name: _entry(name, layers) for name in {**every_setting(), **config.given}}


def side_of_broker(rows: Iterable[tuple[str, str | None, str, bool]]) -> Side:
    """A running broker's: name, value, source, and whether it is a secret, of each row."""
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
    """Names whose values differ, sorted. What one side does not tell is no difference."""
    for name in sorted(one.keys() | other.keys()):
        left, right = one.get(name, _MISSING), other.get(name, _MISSING)
        if left is _MISSING or right is _MISSING:
            told = left.given or right.given
        else:
            told = left.known and right.known
        if told and left.value != right.value:
            yield name, left, right


def untold(one: Side, other: Side) -> list[str]:
    """Names that cannot be compared: set on both sides, or on that which tells, but not told."""
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
