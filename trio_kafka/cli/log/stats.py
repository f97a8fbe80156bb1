"""`trio-kafka log stats`: measure partitions by their files."""

from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Final

from trio_kafka.cli.log.dump import declare_paths
from trio_kafka.cli.log.measure import Measure, measure
from trio_kafka.cli.log.places import folders_of
from trio_kafka.cli.log.words import size_text
from trio_kafka.cli.output import LEFT, RIGHT, declare_json, fixed_columns
from trio_kafka.strict_json import dump_json


def declare(parser: ArgumentParser) -> None:
    declare_paths(parser)
    parser.add_argument(
        "--records",
        action="store_true",
        help="decode records too: sizes of keys and values, tombstones, compression",
    )
    declare_json(parser, "a line of JSON for each partition, and one with the totals")


def stats(*, paths: Sequence[str], records: bool, json: bool) -> int:
    """Count batches, records, offsets, times, codecs, producers and transactions of partitions.

    Only headers are read, unless --records asks for more. No broker is needed; one may be running.
    """
    total = Measure()
    partitions = 0
    if not json:
        print(fixed_columns(_HEAD, _WIDTHS, _SIDES))
    for folder in folders_of(paths):
        figures = measure(folder, records=records)
        if figures is None:
            continue
        partitions += 1
        total.add(figures)
        name = str(folder.path) if folder.partition is None else folder.path.absolute().name
        if json:
            shown = {"is": "partition", "partition": name, "path": str(folder.path)}
            print(dump_json(shown | figures.as_data(records=records)))
        else:
            print(fixed_columns([*figures.as_cells(), name], _WIDTHS, _SIDES))
            if records:
                print(f"{'':{_INDENT}}{figures.content.as_text()}")
    if json:
        totals = {"is": "totals", "partitions": partitions}
        print(dump_json(totals | total.as_data(records=records, is_total=True)))
    else:
        print(
            f"{partitions} partitions, {total.segments} segments, {size_text(total.bytes)},"
            f" {total.batches} batches, {total.records} records"
        )
    return 0


_COLUMNS: Final = (
    ("segments", 8, RIGHT),
    ("size", 9, RIGHT),
    ("batches", 9, RIGHT),
    ("records", 10, RIGHT),
    ("offsets", 15, LEFT),
    ("missing", 7, RIGHT),
    ("earliest", 23, LEFT),
    ("latest", 23, LEFT),
    ("codecs", 6, LEFT),
    ("producers", 9, RIGHT),
    ("commits/aborts/open", 19, LEFT),
    ("partition", 0, LEFT),
)
_HEAD, _WIDTHS, _SIDES = zip(*_COLUMNS, strict=True)
_INDENT: Final = 10
