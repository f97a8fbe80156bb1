"""Reference page docs/reference/configuration.md: every setting, and its support.

`python -m tests.config.report.page` prints it; a test compares it with the file.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from textwrap import wrap
from typing import Final

from trio_kafka.config.catalogue import BROKER_SETTINGS
from trio_kafka.config.load import EMBEDDED
from trio_kafka.config.plugins import HOST_SETTINGS
from trio_kafka.config.report.explain import (
    SUPPORTED,
    bounds_of,
    default_of_kafka,
    support_of,
    topic_support,
)
from trio_kafka.config.rules import KAFKAS_OWN, REJECTED
from trio_kafka.config.setting import Setting, Update, settings_of
from trio_kafka.config.tls import TlsBrokerSettings
from trio_kafka.config.topic import TOPIC_SETTINGS
from trio_kafka.config.trio_settings import TrioSettings
from trio_kafka.config.unsupported import UNSUPPORTED_FIELDS, Support, tables

_HEAD: Final = """\
# Settings

This page lists every setting with its type, default, bounds and support here. [How to configure a
broker](../how-to/configure.md) explains where values come from. `trio-kafka config explain NAME`
shows a setting with its value.

Names, types, defaults and bounds are those of Apache Kafka 4.4. Support is one of these:

- **supported**: the broker follows it.
- **not yet**: accepted and checked, with a warning at the start, but without an effect for now.
- **not applicable**: the same, for good.

The column *Changed* says when a setting may change: `start`: only at a start; `broker`: at run
time, for one broker; `cluster`: at run time, for one broker or all.

Do not edit this page: `python -m tests.config.report.page >
docs/reference/configuration.md` writes it from the declarations in `trio_kafka/config`.
"""
_UPDATES: Final = {
    Update.READ_ONLY: "start",
    Update.PER_BROKER: "broker",
    Update.CLUSTER_WIDE: "cluster",
}
_SUPPORT: Final = {
    Support.SUPPORTED: "supported",
    Support.NOT_YET: "not yet",
    Support.NOT_APPLICABLE: "not applicable",
}
_COLUMNS: Final = ("Setting", "Type", "Default", "Bounds", "Changed", "Description")


def document() -> str:
    """Return the whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    tls = settings_of(TlsBrokerSettings)  # Kafka's, though the others stand upon them
    own = {n: setting for n, setting in settings_of(TrioSettings).items() if n not in tls}
    kafkas = {name: setting for name, setting in BROKER_SETTINGS.items() if name not in own}
    yield _HEAD
    yield from _section(
        "Supported",
        f"Without `process.roles` a node is a cluster of its own, with other defaults:"
        f" {_embedded()}.",
        [setting for name, setting in kafkas.items() if name not in UNSUPPORTED_FIELDS],
    )
    yield from _section(
        "trio-kafka's own",
        "Kafka does not have these.",
        own.values(),
    )
    yield from _section(
        "Every plugin",
        "Each begins with `plugin.<name>.`, and so do the plugin's own settings:"
        " [plugins](plugins.md) has those that come with trio-kafka, `trio-kafka config explain`"
        " tells of all that are installed.",
        HOST_SETTINGS.values(),
    )
    yield from _section(
        "Not yet", "Each says why.", [kafkas[name] for name in sorted(UNSUPPORTED_FIELDS)], why=True
    )
    for table in tables():
        if table.settings:
            title = f"{table.title}: {_SUPPORT[table.support]}"
            yield from _section(title, _sentence(table.why), table.settings.values())
    yield from _rejected()
    yield from _topics()
    yield from _others()


def _section(title: str, text: str, rows: Iterable[Setting], *, why: bool = False) -> Iterator[str]:
    yield f"## {title}\n"
    yield f"{text}\n"
    yield _row(_COLUMNS)
    yield _row(["---"] * len(_COLUMNS))
    for setting in rows:
        here = support_of(setting.name)
        yield _row(_cells(setting, f" It {here}." if why else ""))
    yield ""


def _cells(setting: Setting, more: str = "") -> list[str]:
    return [
        f"`{setting.name}`",
        setting.kind.name.lower(),
        _code(default_of_kafka(setting)),
        bounds_of(setting),
        _UPDATES[setting.update],
        setting.doc + more + _synonyms(setting),
    ]


def _synonyms(setting: Setting) -> str:
    if not setting.synonyms:
        return ""
    return f" The first that is given counts: {', '.join(map(_code, setting.synonyms))}."


def _rejected() -> Iterator[str]:
    yield "## Rejected\n"
    yield "A start with one of these fails: they must not be ignored, and are not supported.\n"
    yield _row(["Setting", "Why"])
    yield _row(["---", "---"])
    for name, why in sorted(REJECTED.items()):
        own = ", ".join(map(_code, KAFKAS_OWN.get(name, ())))
        yield _row([_code(name), f"{why}; accepted: {own}" if own else why])
    yield ""


def _topics() -> Iterator[str]:
    yield "## Topics\n"
    yield "A topic without its own value has that of the first broker setting that is given.\n"
    columns = ("Setting", "Type", "Default", "Bounds", "Broker settings", "Description")
    yield _row(columns)
    yield _row(["---"] * len(columns))
    for setting in TOPIC_SETTINGS.values():
        name, kind, default, bounds, _, text = _cells(setting)
        here = topic_support(setting.name)
        more = "" if here == SUPPORTED else f" It {here}."
        server = ", ".join(_code(server) for server, _ in setting.server)
        yield _row([name, kind, default, bounds, server, text + more])


def _others() -> Iterator[str]:
    for others in tables():
        if not others.names:
            continue
        yield f"\n## {others.title}: {_SUPPORT[others.support]}\n"
        yield f"{_sentence(others.why)}\n"
        yield from wrap(
            ", ".join(map(_code, others.names)) + ".",
            width=120,
            break_long_words=False,
            break_on_hyphens=False,
        )


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _embedded() -> str:
    values: Mapping[str, object] = EMBEDDED
    shown = {
        name: ",".join(value) or "empty" if isinstance(value, tuple) else str(value)
        for name, value in values.items()
    }
    return ", ".join(f"`{name}` {text}" for name, text in shown.items())


def _code(text: str) -> str:
    if text == '""':
        return "empty"
    return f"`{text}`" if text and not text.startswith(("(", "none:")) else text


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


if __name__ == "__main__":
    sys.stdout.write(document())
