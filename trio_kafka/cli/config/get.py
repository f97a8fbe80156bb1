"""`trio-kafka config get`: settings that a cluster has."""

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from typing import Final

from trio_kafka.cli import FAILED, CommandFailedError
from trio_kafka.cli.admin import TIMEOUT_S, open_cluster
from trio_kafka.cli.broker_options import declare_broker
from trio_kafka.cli.config.changes import declare_resources, resource_of
from trio_kafka.cli.near_names import nearest, with_nearest_topic
from trio_kafka.cli.output import LEFT, columns, declare_json, print_answer
from trio_kafka.clients.admin.config_values import ConfigEntry

_HEAD: Final = ("setting", "value", "source")


def declare(parser: ArgumentParser) -> None:
    declare_resources(parser)
    parser.add_argument("setting", nargs="*", metavar="SETTING", help="default: those that are set")
    parser.add_argument("--all", action="store_true", help="defaults, too")
    declare_broker(parser, TIMEOUT_S)
    declare_json(parser, "one JSON object: `settings`")


def get(
    *,
    kind: str,
    name: str,
    setting: Sequence[str],
    all: bool,  # noqa: A002 - the name of the option
    bootstrap: str,
    timeout: float,
    json: bool,
) -> int:
    """Show settings of a topic, broker, logger or group, and where each is set."""
    resource = resource_of(kind, name)
    with open_cluster(bootstrap, timeout) as admin:
        results = admin.describe_configs([resource])
        for error in results.errors.values():
            raise with_nearest_topic(admin, error, name)
        entries = results[resource]
    for word in setting:
        if word not in entries:
            hint = nearest(word, list(entries))
            raise CommandFailedError(f"{kind} {name}: no setting {word}{hint}", FAILED)
    shown = [
        entry
        for entry in entries.values()
        if (entry.name in setting if setting else all or not entry.is_default)
    ]
    return print_answer(sorted(shown, key=lambda entry: entry.name), as_data, as_text, json=json)


def as_data(entries: Sequence[ConfigEntry]) -> dict[str, object]:
    """Return the settings for JSON."""
    rows = [
        {
            "name": entry.name,
            "value": entry.value,
            "source": entry.source.name,
            "sensitive": entry.is_sensitive,
            "read_only": entry.is_read_only,
        }
        for entry in entries
    ]
    return {"settings": rows}


def as_text(entries: Sequence[ConfigEntry]) -> Iterator[str]:
    """Yield the lines of a table."""
    rows = [
        [entry.name, "(hidden)" if entry.is_sensitive else str(entry.value), entry.source.name]
        for entry in entries
    ]
    yield from columns(_HEAD, rows, [LEFT, LEFT, LEFT])
