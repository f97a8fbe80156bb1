"""`trio-kafka config diff`: settings that differ between files, defaults and a running broker."""

from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Final

from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.broker_client import (
    BrokerClientError,
    failed_answer,
    open_client,
    parse_address,
)
from trio_kafka.cli.broker_options import (
    VARIABLE,
    declare_cluster,
    declare_timeout,
    default_bootstrap,
)
from trio_kafka.cli.machine import Machine
from trio_kafka.cli.output import declare_json, print_json
from trio_kafka.cli.settings import read_file
from trio_kafka.config.dynamic import Source
from trio_kafka.config.load import load
from trio_kafka.config.report.comparison import (
    Entry,
    Side,
    differences,
    not_comparable,
    side_of,
    side_of_broker,
)
from trio_kafka.config.setting import ConfigError
from trio_kafka.protocol.messages.k32_describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from trio_kafka.protocol.messages.k60_describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from trio_kafka.protocol.texts import printable

DIFFERENT: Final = 1
_BROKER: Final = 4  # the resource type of Kafka's protocol
_SOURCES: Final[Mapping[int, str]] = {
    Source.DYNAMIC_BROKER: "set at run time",
    Source.DYNAMIC_DEFAULT_BROKER: "set at run time, for all brokers",
    Source.STATIC_BROKER: "set at its start",
    Source.DEFAULT: "the default",
}


def declare(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="A", help="a properties or .toml file")
    parser.add_argument(
        "other", nargs="?", metavar="B", help="a second file (default: Kafka's defaults)"
    )
    parser.add_argument(
        "--running", action="store_true", help=f"compare A with the broker at {VARIABLE}"
    )
    declare_cluster(parser, purpose="compare A with the running broker there", keep_none=True)
    parser.add_argument(
        "--broker", type=int, metavar="ID", help="id of that broker, where a cluster has several"
    )
    declare_timeout(parser)
    declare_json(
        parser,
        "one JSON object: `differences`, each with `name`, `a` and `b`, which have `value` and"
        " `source`; and `not_compared`, the names that one side hides",
    )


def diff(
    *,
    file: str,
    other: str | None,
    running: bool,
    bootstrap: str | None,
    broker: int | None,
    timeout: float,
    json: bool,
) -> int:
    """Show which settings differ, and the source of each value. The environment is ignored.

    Ends with status 1 if any differ, and with 2 if the two cannot be compared.
    """
    if bootstrap is None and (running or broker is not None):
        bootstrap = default_bootstrap()
    if other is not None and bootstrap is not None:
        raise CommandFailedError(
            "A can be compared with B or with a running broker, not with both: leave one out"
        )
    try:
        first = _of_files(file)
        if bootstrap is None:
            second = _of_files(*[other] if other is not None else [])
        else:
            second = of_broker(bootstrap, broker, timeout)
    except (ConfigError, BrokerClientError) as error:
        raise CommandFailedError(str(error)) from error
    changes, names = list(differences(first, second)), not_comparable(first, second)
    if json:
        print_json(
            {
                "differences": [
                    {"name": name, "a": _as_data(before), "b": _as_data(after)}
                    for name, before, after in changes
                ],
                "not_compared": names,
            }
        )
    else:
        for name, before, after in changes:
            print(printable(name))
            print(f"  - {printable(before.shown)}  ({printable(before.source)})")
            print(f"  + {printable(after.shown)}  ({printable(after.source)})")
        if names:
            print(f"not compared, since one side hides them: {', '.join(map(printable, names))}")
    return DIFFERENT if changes else 0


def _as_data(entry: Entry) -> dict[str, str]:
    return {"value": entry.shown, "source": entry.source}


def of_broker(bootstrap: str, broker: int | None, timeout_s: float) -> Side:
    """Return the settings that a running broker describes. Raises BrokerClientError."""
    unknown = "the server has no API DescribeConfigs: is it a Kafka broker?"
    with open_client(parse_address(bootstrap), timeout_s, unknown=unknown) as ask:
        if broker is None:
            broker = _only_one(bootstrap, ask(DescribeClusterRequest()))
        resource = DescribeConfigsResource(
            resource_type=_BROKER, resource_name=str(broker), configuration_keys=None
        )
        [result] = ask(DescribeConfigsRequest(resources=[resource])).results
    if result.error_code:
        raise failed_answer(bootstrap, result)
    return side_of_broker(
        (row.name, row.value, _SOURCES.get(row.config_source, "?"), row.is_sensitive)
        for row in result.configs
    )


def _only_one(bootstrap: str, answer: DescribeClusterResponse) -> int:
    if answer.error_code:
        raise failed_answer(bootstrap, answer)
    ids = [broker.broker_id for broker in answer.brokers]
    if len(ids) != 1:
        reason = f"the cluster has {len(ids)} brokers: choose one with --broker ID"
        raise BrokerClientError(bootstrap, reason)
    return ids[0]


def _of_files(*files: str) -> Side:
    return side_of(load(*[dict(read_file(file)) for file in files], outside=Machine()).config)
