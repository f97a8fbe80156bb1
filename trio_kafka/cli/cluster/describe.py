"""`trio-kafka cluster describe`: id, controller and brokers of a cluster."""

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Final

from trio_kafka.cli.admin import TIMEOUT_S, open_cluster
from trio_kafka.cli.broker_options import declare_broker
from trio_kafka.cli.output import LEFT, RIGHT, columns, declare_json, print_answer
from trio_kafka.clients.admin.cluster import ClusterDescription
from trio_kafka.protocol.texts import printable

_HEAD: Final = ("node", "address", "rack")


def declare(parser: ArgumentParser) -> None:
    declare_broker(parser, TIMEOUT_S)
    declare_json(parser, "one JSON object: `cluster_id`, `controller`, `brokers`")


def describe(*, bootstrap: str, timeout: float, json: bool) -> int:
    """Show the brokers of a cluster."""
    with open_cluster(bootstrap, timeout) as admin:
        answer = admin.describe_cluster()
    return print_answer(answer, as_data, as_text, json=json)


def as_data(cluster: ClusterDescription) -> dict[str, object]:
    """Return the cluster for JSON."""
    return {
        "cluster_id": cluster.cluster_id,
        "controller": cluster.controller_id,
        "brokers": [
            {"node": node.node_id, "host": node.host, "port": node.port, "rack": node.rack}
            for node in cluster.nodes
        ],
    }


def as_text(cluster: ClusterDescription) -> Iterator[str]:
    """Yield a line and a table."""
    yield printable(f"cluster {cluster.cluster_id}  controller {cluster.controller_id}")
    rows = [
        [str(node.node_id), f"{node.host}:{node.port}", node.rack or "-"] for node in cluster.nodes
    ]
    yield from columns(_HEAD, rows, [RIGHT, LEFT, LEFT])
