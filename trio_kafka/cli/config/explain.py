"""`trio-kafka config explain`: list, search and explain settings.

A full name is explained; any other word is searched in the names of all settings.
"""

import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.cli import REJECTED
from trio_kafka.cli.output import LEFT, columns, declare_json, print_json_line
from trio_kafka.cli.settings import declare_options, read_settings
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.catalogue import every_setting, is_of_plugin, setting_of, unknown
from trio_kafka.config.dynamic import Layers
from trio_kafka.config.report.explain import explain_broker, explain_of_plugin, explain_topic
from trio_kafka.config.topic import TOPIC_SETTINGS

_INDENT: Final = "  "
_WIDTH: Final = 9
_HEAD: Final = ("SETTING", "OF", "VALUE", "DESCRIPTION")
_LONGEST_VALUE: Final = 40


@frozen
class Explained:
    """One setting of brokers, topics or a plugin. facts: text by label."""

    name: str
    owner: str
    facts: dict[str, str]


def declare(parser: ArgumentParser) -> None:
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="a setting of brokers, topics or plugins, or a part of its name; none: list all",
    )
    declare_options(parser)
    parser.add_argument(
        "-f",
        "--file",
        action="append",
        default=[],
        help="a properties or .toml file with values to show; may be repeated",
    )
    declare_json(parser, "one JSON object a line for each setting: `name`, `of`, and what is known")


def explain(*, names: Sequence[str], config: Sequence[str], file: Sequence[str], json: bool) -> int:
    """List, search or explain settings: type, default, bounds, value, and where it is from."""
    loaded = read_settings(file, config)
    if not names:
        _print(list(_all(loaded.config)), json=json, briefly=True)
        return 0
    status = 0
    for name in names:
        settings = list(_named(name, loaded.config))
        if settings:
            _print(settings, json=json, briefly=False)
            continue
        matching = [setting for setting in _all(loaded.config) if name.lower() in setting.name]
        if matching:
            _print(matching, json=json, briefly=len(matching) > 1)
        else:
            print(f"trio-kafka: {name}: {unknown(name)}", file=sys.stderr)
            status = REJECTED
    return status


def _named(name: str, config: BrokerConfig) -> Iterator[Explained]:
    """Yield the settings with exactly this name."""
    layers = Layers(config=config)
    if setting_of(name) is not None:
        yield Explained(name, "brokers", dict(explain_broker(name, layers)))
    if name in TOPIC_SETTINGS:
        yield Explained(name, "topics", dict(explain_topic(name, layers)))
    if is_of_plugin(name):
        yield from (setting for setting in _of_plugins(config) if setting.name == name)


def _all(config: BrokerConfig) -> Iterator[Explained]:
    layers = Layers(config=config)
    for name in every_setting():
        yield Explained(name, "brokers", dict(explain_broker(name, layers)))
    for name in TOPIC_SETTINGS:
        yield Explained(name, "topics", dict(explain_topic(name, layers)))
    yield from _of_plugins(config)


def _of_plugins(config: BrokerConfig) -> Iterator[Explained]:
    """Yield the settings of every installed plugin, which is imported for that."""
    from trio_kafka.plugin_host.plugin_check import check_plugins  # noqa: PLC0415 - rarely needed
    from trio_kafka.plugin_host.settings import settings_of_plugin  # noqa: PLC0415

    layer = config.texts
    for checked in check_plugins(layer):
        if checked.plugin is None:
            continue
        for name, setting in settings_of_plugin(checked.plugin).items():
            facts = dict(explain_of_plugin(setting, layer.get(name)))
            yield Explained(name, f"plugin {checked.name}", facts)


def _print(settings: Sequence[Explained], *, json: bool, briefly: bool) -> None:
    if json:
        for setting in settings:
            print_json_line({"name": setting.name, "of": setting.owner, **setting.facts})
    elif briefly:
        rows = [
            (setting.name, setting.owner, _short(setting.facts["value"]), setting.facts["what"])
            for setting in settings
        ]
        for line in columns(_HEAD, rows, [LEFT] * len(_HEAD)):
            print(line)
    else:
        for setting in settings:
            print(f"{setting.name}, of {setting.owner}")
            for label, text in setting.facts.items():
                print(f"{_INDENT}{label:{_WIDTH}}{text}")


def _short(value: str) -> str:
    return value if len(value) <= _LONGEST_VALUE else f"{value[: _LONGEST_VALUE - 1]}…"
