"""`trio-kafka config diff`: which settings differ between files, defaults and a running broker."""

import sys
from argparse import ArgumentParser
from typing import Final

from trio_kafka.cli.broker_client import (
    BrokerClientError,
    declare_timeout,
    name_of,
    open_client,
    parse_address,
)
from trio_kafka.cli.machine import Machine
from trio_kafka.cli.settings import REFUSED, read_file
from trio_kafka.config.dynamic import Source
from trio_kafka.config.load import load
from trio_kafka.config.report.comparison import Side, differences, side_of, side_of_broker, untold
from trio_kafka.config.setting import ConfigError
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k32_describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from trio_kafka.protocol.messages.k60_describe_cluster import DescribeClusterRequest
from trio_kafka.protocol.texts import printable

DIFFERENT: Final = 1
_BROKER: Final = 4  # the resource type of Kafka's protocol
_SOURCES: Final = {
    Source.DYNAMIC_BROKER: "set while it runs",
    Source.DYNAMIC_DEFAULT_BROKER: "set while they run, for all brokers",
    Source.STATIC_BROKER: "written down",
    Source.DEFAULT: "the default",
}


def declare(parser: ArgumentParser) -> None:
    parser.add_argument("one", metavar="A", help="a properties or .toml file")
    parser.add_argument("other", nargs="?", metavar="B", help="another; without it: defaults")
    parser.add_argument(
        "--bootstrap", metavar="HOST:PORT", help="a running broker, to compare A with"
    )
    parser.add_argument(
        "--broker",
        type=int,
        metavar="ID",
        help="the id of that broker, where a cluster has several",
    )
    declare_timeout(parser)


def diff(
    *, one: str, other: str | None, bootstrap: str | None, broker: int | None, timeout: float
) -> int:
    """Say which settings differ, with where each value is from. The environment is left out.

    Ends with status 1 if any differ, and with 2 if there is nothing to compare.
    """
    if other is not None and bootstrap is not None:
        print("trio-kafka: want B or --bootstrap, not both", file=sys.stderr)
        return REFUSED
    try:
        left = _of_files(one)
        if bootstrap is None:
            right = _of_files(*[other] if other is not None else [])
        else:
            right = of_broker(bootstrap, broker, timeout)
    except ConfigError as error:
        print(f"trio-kafka: {error}", file=sys.stderr)
        return REFUSED
    except BrokerClientError as error:
        print(f"trio-kafka: {bootstrap}: {printable(str(error))}", file=sys.stderr)
        return REFUSED
    found = 0
    for name, before, after in differences(left, right):
        found += 1
        print(printable(name))
        print(f"  - {printable(before.shown)}  ({printable(before.source)})")
        print(f"  + {printable(after.shown)}  ({printable(after.source)})")
    if names := untold(left, right):
        print(f"not compared, for one side does not tell: {', '.join(map(printable, names))}")
    return DIFFERENT if found else 0


def of_broker(bootstrap: str, broker: int | None, timeout_s: float) -> Side:
    """What a running broker says of itself. Raises BrokerClientError."""
    unknown = "this server does not tell its settings"
    with open_client(parse_address(bootstrap), timeout_s, unknown=unknown) as ask:
        if broker is None:
            broker = _only_one(ask(DescribeClusterRequest()))
        resource = DescribeConfigsResource(
            resource_type=_BROKER, resource_name=str(broker), configuration_keys=None
        )
        [result] = ask(DescribeConfigsRequest(resources=[resource])).results
    if result.error_code:
        raise BrokerClientError(result.error_message or name_of(result.error_code))
    return side_of_broker(
        (row.name, row.value, _SOURCES.get(row.config_source, "?"), row.is_sensitive)
        for row in result.configs
    )


def _only_one(answer: object) -> int:
    code = getattr(answer, "error_code", 0)
    if code != ErrorCode.NONE:
        raise BrokerClientError(name_of(code))
    ids = [one.broker_id for one in getattr(answer, "brokers", [])]
    if len(ids) != 1:
        raise BrokerClientError(f"the cluster has {len(ids)} brokers: want --broker")
    return int(ids[0])


def _of_files(*files: str) -> Side:
    return side_of(load(*[dict(read_file(file)) for file in files], outside=Machine()).config)
