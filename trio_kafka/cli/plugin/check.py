"""`trio-kafka plugin check`: whether the installed plugins could be started with these settings."""

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence

from trio_kafka.cli.settings import REFUSED, declare_settings, read_settings
from trio_kafka.plugin_host.plugin_check import CheckedPlugin, check_plugins
from trio_kafka.protocol.texts import printable

PROBLEMS = 1


def declare(parser: ArgumentParser) -> None:
    declare_settings(parser)


def check(*, files: Sequence[str], config: Sequence[str]) -> int:
    """Import the installed plugins and check their settings; nothing is started.

    Ends with status 1 if a plugin cannot be imported, or has settings that are wrong.
    """
    loaded = read_settings(files, config)
    if loaded is None:
        return REFUSED
    found = list(check_plugins(loaded.config.given))
    for line in as_text(found):
        print(printable(line))
    return PROBLEMS if any(one.problems for one in found) else 0


def as_text(found: Sequence[CheckedPlugin]) -> Iterator[str]:
    """A line for each plugin, and one for each problem."""
    if not found:
        yield "no plugins are installed"
    for one in found:
        if one.problems:
            yield from (f"{one.name}: error: {text} ({one.source})" for text in one.problems)
        elif one.plugin is None:
            yield f"{one.name}: disabled ({one.source})"
        else:
            state = "ok" if one.plugin.enabled else "ok, not enabled unless a setting says so"
            yield f"{one.name}: {state} ({one.source})"
