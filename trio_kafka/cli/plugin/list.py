"""`trio-kafka plugin list`: plugins of a running broker, with state, error and contributions."""

from argparse import ArgumentParser
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

from trio_kafka.cli.broker_client import (
    parse_address,
    send_request,
)
from trio_kafka.cli.broker_options import declare_broker
from trio_kafka.cli.output import LEFT, RIGHT, columns, declare_json, print_answer
from trio_kafka.model import Endpoint
from trio_kafka.protocol.messages.k10002_list_plugins import (
    ListedPlugin,
    ListPluginsRequest,
)
from trio_kafka.protocol.schema import fields_of
from trio_kafka.protocol.texts import printable

UNKNOWN: Final = "the server has no API for plugins: only a trio-kafka broker has it"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_HEAD: Final = (
    "NAME",
    "STATE",
    "SINCE",
    "GENERATION",
    "FAILURES",
    "FAILED REQUESTS",
    "POLICY",
    "DESCRIPTION",
)
_SIDES: Final = (LEFT, LEFT, LEFT, RIGHT, RIGHT, RIGHT, LEFT, LEFT)


def declare(parser: ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="only this plugin")
    declare_broker(parser)
    declare_json(parser, "one JSON array with an object for each plugin")


def list_plugins(*, name: str | None, bootstrap: str, json: bool, timeout: float) -> int:
    """Show the plugins of a running broker, in the order in which they start."""
    plugins = read_plugins(parse_address(bootstrap), name, timeout)
    return print_answer(plugins, as_data, as_text, json=json)


def read_plugins(address: Endpoint, name: str | None, timeout_s: float) -> list[ListedPlugin]:
    """Return the plugins of a broker. Raises BrokerClientError."""
    request = ListPluginsRequest(name)
    answer = send_request(request, address, timeout_s, unknown=UNKNOWN)
    return answer.plugins


def as_data(plugins: list[ListedPlugin]) -> list[dict[str, object]]:
    """Return plugins for JSON."""
    names = [field.name for field in fields_of(ListedPlugin)]
    return [
        {name: getattr(plugin, name) for name in names}
        | {"settings": {setting.name: setting.value for setting in plugin.settings}}
        for plugin in plugins
    ]


def as_text(plugins: list[ListedPlugin]) -> Iterator[str]:
    """Yield a table, then the contributions, settings and error of each plugin."""
    if not plugins:
        yield "no plugins"
        return
    yield from columns(_HEAD, [_row(plugin) for plugin in plugins], _SIDES)
    for plugin in plugins:
        yield from _more(plugin)


def _row(plugin: ListedPlugin) -> tuple[str, ...]:
    since = _EPOCH + timedelta(milliseconds=plugin.since_ms)
    return (
        plugin.name,
        plugin.state if plugin.enabled else "disabled",
        f"{since:%Y-%m-%d %H:%M:%S}",
        str(plugin.generation),
        str(plugin.failures),
        str(plugin.failed_requests),
        plugin.policy,
        next(iter(plugin.doc.splitlines()), ""),
    )


def _more(plugin: ListedPlugin) -> Iterator[str]:
    lines = []
    if plugin.contributions:
        lines.append(("adds", " ".join(plugin.contributions)))
    if plugin.settings:
        lines.append(("settings", " ".join(f"{s.name}={s.value}" for s in plugin.settings)))
    if plugin.past:
        lines.append(("draining", f"{plugin.past} earlier generations"))
    if plugin.error:
        lines.append(("error", plugin.error))
    if lines:
        yield f"\n{printable(plugin.name)}"
        for label, text in lines:
            yield f"  {label:12}{printable(text)}"
