"""`trio-kafka config explain`: what a setting means, what it is now, what becomes of it here."""

import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Sequence
from typing import Final

from trio_kafka.cli.settings import REFUSED, declare_options, read_settings
from trio_kafka.config.catalogue import is_of_plugin, setting_of, unknown
from trio_kafka.config.dynamic import Layers
from trio_kafka.config.load import Layer
from trio_kafka.config.report.explain import explain_broker, explain_of_plugin, explain_topic
from trio_kafka.config.topic import TOPIC_SETTINGS

_INDENT: Final = "  "
_WIDTH: Final = 9


def declare(parser: ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="a setting of brokers or topics")
    declare_options(parser)
    parser.add_argument(
        "-f",
        "--file",
        action="append",
        default=[],
        help="a properties or .toml file whose values are told; may be repeated",
    )


def explain(*, names: Sequence[str], config: Sequence[str], file: Sequence[str]) -> int:
    """Say what settings mean: type, default, bounds, value and where it is from."""
    loaded = read_settings(file, config)
    if loaded is None:
        return REFUSED
    layers = Layers(config=loaded.config)
    status = 0
    for name in names:
        told = False
        if setting_of(name) is not None:
            _show(f"{name}, of brokers", explain_broker(name, layers))
            told = True
        if name in TOPIC_SETTINGS:
            _show(f"{name}, of topics", explain_topic(name, layers))
            told = True
        if is_of_plugin(name):
            told = _explain_plugin(name, loaded.config.given)
        if not told:
            print(f"trio-kafka: {name}: {unknown(name)}", file=sys.stderr)
            status = REFUSED
    return status


def _explain_plugin(name: str, given: Layer) -> bool:
    """Whether an installed plugin has such a setting, which is then told of."""
    from trio_kafka.plugin_host.plugin_check import check_plugins  # noqa: PLC0415 - few ask for these
    from trio_kafka.plugin_host.settings import settings_of_plugin  # noqa: PLC0415

    for one in check_plugins(given):
        setting = settings_of_plugin(one.plugin).get(name) if one.plugin else None
        if setting is not None:
            _show(f"{name}, of plugin {one.name}", explain_of_plugin(setting, given.get(name)))
            return True
    return False


def _show(title: str, lines: Iterable[tuple[str, str]]) -> None:
    print(title)
    for label, text in lines:
        print(f"{_INDENT}{label:{_WIDTH}}{text}")
