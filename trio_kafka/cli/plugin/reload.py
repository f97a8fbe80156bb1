"""`trio-kafka plugin reload`: replace a plugin of a running broker by its current package."""

from argparse import ArgumentParser
from typing import Final

from trio_kafka.cli.broker_client import (
    parse_address,
    send_request,
)
from trio_kafka.cli.broker_options import declare_broker
from trio_kafka.cli.output import declare_json, print_json
from trio_kafka.cli.plugin.list import UNKNOWN
from trio_kafka.protocol.messages.k10003_reload_plugin import (
    ReloadPluginRequest,
)

_LONG_S: Final = 60.0


def declare(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the plugin")
    declare_broker(parser, _LONG_S)
    declare_json(parser, "one JSON object: `name`, `generation`")


def reload(*, name: str, bootstrap: str, json: bool, timeout: float) -> int:
    """Import a plugin again in a running broker, and let it replace the current generation.

    Connections stay open; requests in flight end in the old generation. If the new generation
    does not become ready, the old one continues and the command ends with status 1.
    """
    address, request = parse_address(bootstrap), ReloadPluginRequest(name)
    answer = send_request(request, address, timeout, unknown=UNKNOWN)
    if json:
        print_json({"name": name, "generation": answer.generation})
    else:
        print(f"plugin {name}: generation {answer.generation} serves")
    return 0
