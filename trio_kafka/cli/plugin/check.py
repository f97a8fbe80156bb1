"""`trio-kafka plugin check`: problems of the installed plugins and their settings."""

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from typing import Final

from trio_kafka.cli.output import declare_json, print_json_line
from trio_kafka.cli.settings import declare_settings, read_settings
from trio_kafka.plugin_host.plugin_check import CheckedPlugin, check_plugins
from trio_kafka.protocol.texts import printable

PROBLEMS: Final = 1


def declare(parser: ArgumentParser) -> None:
    declare_settings(parser)
    declare_json(parser, "one JSON object a line: `name`, `state`, `source`, `problems`")


def check(*, files: Sequence[str], config: Sequence[str], json: bool) -> int:
    """Import the installed plugins and check their settings, without starting them.

    Ends with status 1 if a plugin cannot be imported, or has wrong settings.
    """
    loaded = read_settings(files, config)
    plugins = list(check_plugins(loaded.config.texts))
    if json:
        for plugin in plugins:
            print_json_line(as_data(plugin))
    else:
        for line in as_text(plugins):
            print(printable(line))
    return PROBLEMS if any(plugin.problems for plugin in plugins) else 0


def as_text(plugins: Sequence[CheckedPlugin]) -> Iterator[str]:
    """Yield a line for each plugin, or one for each of its problems."""
    if not plugins:
        yield "no plugins are installed"
    for plugin in plugins:
        if plugin.problems:
            yield from (
                f"{plugin.name}: error: {text} ({plugin.source})" for text in plugin.problems
            )
        else:
            more = f" (plugin.{plugin.name}.enabled=true enables it)"
            hint = more if _state(plugin) == "off by default" else ""
            yield f"{plugin.name}: {_state(plugin)}{hint} ({plugin.source})"


def as_data(plugin: CheckedPlugin) -> dict[str, object]:
    """Return a plugin for JSON."""
    return {
        "name": plugin.name,
        "state": _state(plugin),
        "source": plugin.source,
        "problems": list(plugin.problems),
    }


def _state(plugin: CheckedPlugin) -> str:
    if plugin.problems:
        return "error"
    if plugin.plugin is None:
        return "disabled"
    return "ok" if plugin.plugin.enabled else "off by default"
