"""docs/configuration.md: every setting, its type, default and bounds, and what becomes of it here.

`python -m trio_kafka.config.report.document` prints it; a test compares it with the file.
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
from trio_kafka.config.rules import REFUSED
from trio_kafka.config.setting import Setting, Update, settings_of
from trio_kafka.config.topic import TOPIC_SETTINGS
from trio_kafka.config.trio_settings import TrioSettings
from trio_kafka.config.unsupported import UNSUPPORTED_FIELDS, VALUES_NOT_YET, Support
from trio_kafka.config.unsupported.non_broker import NON_BROKER_SETTINGS
from trio_kafka.config.unsupported.tables import TABLES

_HEAD: Final = """\
# Configuration

Written by `python -m trio_kafka.config.report.document > docs/configuration.md`: change what
`trio_kafka/config` declares, not this page. [How to configure a broker](how-to/configure.md) says
where settings come from; `trio-kafka config explain NAME` shows one with its value.

Names, types, defaults and bounds are those of Apache Kafka 4.4. Every setting has one of these
fates:

- **supported**: some part obeys it.
- **not yet**: it is accepted and checked, a start warns of it, and it has no effect for the reason
  given.
- **not applicable**: the same, and it will stay so.

Changed: `start` is read when the broker starts, `broker` may be changed for one broker while it
runs, `cluster` for one or for all.
"""
_UPDATES: Final = {
    Update.READ_ONLY: "start",
    Update.PER_BROKER: "broker",
    Update.CLUSTER_WIDE: "cluster",
}
_FATES: Final = {
    Support.SUPPORTED: "obeyed",
    Support.NOT_YET: "not yet",
    Support.NOT_APPLICABLE: "not applicable",
}
_COLUMNS: Final = ("Setting", "Type", "Default", "Bounds", "Changed", "What it says")


def document() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    own = settings_of(TrioSettings)
    kafkas = {name: one for name, one in BROKER_SETTINGS.items() if name not in own}
    yield _HEAD
    yield from _section(
        "Supported",
        f"Without `process.roles` a node is a cluster of its own, and these have other defaults:"
        f" {_embedded()}.",
        [one for name, one in kafkas.items() if name not in UNSUPPORTED_FIELDS],
    )
    yield from _section(
        "Of trio-kafka itself",
        "Kafka does not have these.",
        own.values(),
    )
    yield from _section(
        "Of every plugin",
        "Each begins with `plugin.<name>.`, and so do the plugin's own settings:"
        " [plugins](plugins.md) has those that come with trio-kafka, `trio-kafka config explain`"
        " tells of all that are installed.",
        HOST_SETTINGS.values(),
    )
    yield from _section(
        "Not yet", "Each says why.", [kafkas[name] for name in sorted(UNSUPPORTED_FIELDS)], why=True
    )
    for table in TABLES:
        yield from _section(
            f"{table.title}: {_FATES[table.support]}",
            _sentence(table.why),
            table.settings.values(),
        )
    yield from _refused()
    yield from _topics()
    yield from _others()


def _section(title: str, text: str, rows: Iterable[Setting], *, why: bool = False) -> Iterator[str]:
    yield f"## {title}\n"
    yield f"{text}\n"
    yield _row(_COLUMNS)
    yield _row(["---"] * len(_COLUMNS))
    for one in rows:
        here = support_of(one.name)
        told = why or one.name in VALUES_NOT_YET
        yield _row(_cells(one, f" It {here}." if told else ""))
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


def _refused() -> Iterator[str]:
    yield "## Refused\n"
    yield "A start with one of these fails, for it must not be ignored and cannot be honoured.\n"
    yield _row(["Setting", "Why"])
    yield _row(["---", "---"])
    for name, why in sorted(REFUSED.items()):
        yield _row([_code(name), why])
    yield ""


def _topics() -> Iterator[str]:
    yield "## Of topics\n"
    yield "A topic that does not set one has the value of the first broker setting that is given.\n"
    columns = ("Setting", "Type", "Default", "Bounds", "Broker settings", "What it says")
    yield _row(columns)
    yield _row(["---"] * len(columns))
    for one in TOPIC_SETTINGS.values():
        name, kind, default, bounds, _, text = _cells(one)
        here = topic_support(one.name)
        more = "" if here == SUPPORTED else f" It {here}."
        server = ", ".join(_code(server) for server, _ in one.server)
        yield _row([name, kind, default, bounds, server, text + more])


def _others() -> Iterator[str]:
    for others in NON_BROKER_SETTINGS:
        yield f"\n## {others.title}: {_FATES[others.support]}\n"
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
