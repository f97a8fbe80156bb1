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
    found = list(check_plugins(loaded.config.texts))
    if json:
        for one in found:
            print_json_line(as_data(one))
    else:
        for line in as_text(found):
            print(printable(line))
    return PROBLEMS if any(one.problems for one in found) else 0


def as_text(found: Sequence[CheckedPlugin]) -> Iterator[str]:
    """Yield a line for each plugin, or one for each of its problems."""
    if not found:
        yield "no plugins are installed"
    for one in found:
        if one.problems:
            yield from (f"{one.name}: error: {text} ({one.source})" for text in one.problems)
        else:
            more = f" (plugin.{one.name}.enabled=true enables it)"
            hint = more if _state(one) == "off by default" else ""
            yield f"{one.name}: {_state(one)}{hint} ({one.source})"


def as_data(one: CheckedPlugin) -> dict[str, object]:
    """Return a plugin for JSON."""
    return {
        "name": one.name,
        "state": _state(one),
        "source": one.source,
        "problems": list(one.problems),
    }


def _state(one: CheckedPlugin) -> str:
    if one.problems:
        return "error"
    if one.plugin is None:
        return "disabled"
    return "ok" if one.plugin.enabled else "off by default"
