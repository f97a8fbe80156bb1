"""`trio-kafka cluster features`: levels of a cluster's features."""

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Final

from trio_kafka.cli.admin import TIMEOUT_S, open_cluster
from trio_kafka.cli.broker_options import declare_broker
from trio_kafka.cli.output import LEFT, RIGHT, columns, declare_json, print_answer
from trio_kafka.clients.admin.features import FeatureMetadata

_HEAD: Final = ("feature", "lowest", "highest", "level")


def declare(parser: ArgumentParser) -> None:
    declare_broker(parser, TIMEOUT_S)
    declare_json(parser, "one JSON object: `features`")


def features(*, bootstrap: str, timeout: float, json: bool) -> int:
    """Show the levels that the broker supports, and the level that the cluster has."""
    with open_cluster(bootstrap, timeout) as admin:
        answer = admin.describe_features()
    return print_answer(answer, as_data, as_text, json=json)


def as_data(answer: FeatureMetadata) -> dict[str, object]:
    """Return the features for JSON."""
    return {
        "features": [
            {"feature": name, "lowest": lowest, "highest": highest, "level": level}
            for name, lowest, highest, level in _rows(answer)
        ]
    }


def as_text(answer: FeatureMetadata) -> Iterator[str]:
    """Yield the lines of a table."""
    rows = [[name, *map(str, levels)] for name, *levels in _rows(answer)]
    yield from columns(_HEAD, rows, [LEFT, RIGHT, RIGHT, RIGHT])


def _rows(answer: FeatureMetadata) -> Iterator[tuple[str, int, int, int]]:
    for name, (lowest, highest) in sorted(answer.supported.items()):
        _, level = answer.finalized.get(name, (0, 0))
        yield name, lowest, highest, level
