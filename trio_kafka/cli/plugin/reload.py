"""`trio-kafka plugin reload`: let a plugin of a running broker be what its package is now."""

from argparse import ArgumentParser
from typing import Final

from trio_kafka.cli.broker_client import (
    BrokerClientError,
    declare_broker,
    parse_address,
    report_error,
    send_request,
)
from trio_kafka.cli.plugin.list import UNKNOWN
from trio_kafka.protocol.messages.k10003_reload_plugin import (
    ReloadPluginRequest,
    ReloadPluginResponse,
)

_LONG_S: Final = 60.0


def declare(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the plugin")
    declare_broker(parser, _LONG_S)


def reload(*, name: str, bootstrap: str, timeout: float) -> int:
    """Import a plugin afresh in a running broker, and let it take the place of the old one.

    Connections stay, and what is in hand is finished by the old one. If the new one does not
    become ready the old one goes on, and this ends with status 1.
    """
    try:
        address, wanted = parse_address(bootstrap), ReloadPluginRequest(name)
        answer: ReloadPluginResponse = send_request(wanted, address, timeout, unknown=UNKNOWN)
    except BrokerClientError as error:
        return report_error(bootstrap, error)
    print(f"plugin {name}: generation {answer.generation} serves")
    return 0
