"""`trio-kafka spark checkpoint`: print offsets of a stopped stream as a value of startingOffsets.

A query may keep its checkpoint when only the format changes between `kafka` and `trio-kafka`. With
a new checkpoint, after a change of the query that Spark does not accept, it starts from these.
Spark writes `offsets/N` before batch N, and `commits/N` after it.
"""

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Final

from trio_kafka_spark.source.offsets import Offsets, as_json, from_json

VERSION: Final = "v1"
NO_OFFSET: Final = "-"


class CheckpointError(ValueError):
    """A directory that is no checkpoint, or none of a query over topics."""


def declare(parser: ArgumentParser) -> None:
    """Declare the arguments of `checkpoint`."""
    parser.add_argument("path", metavar="PATH", help="the query's checkpointLocation, a local path")
    parser.add_argument(
        "--source",
        type=int,
        metavar="NUMBER",
        help="which source of a query that reads several, counted from 0",
    )


def checkpoint(*, path: str, source: int | None) -> int:
    """Print the startingOffsets that continue after the last committed batch of a checkpoint."""
    try:
        offsets = committed(path, source)
    except (CheckpointError, OSError) as error:
        print(f"trio-kafka: {error}", file=sys.stderr)
        return 1
    print(json.dumps(as_json(offsets), separators=(",", ":")))
    return 0


def committed(path: str, source: int | None = None) -> Offsets:
    """Return the offsets after the last committed batch of one source.

    path: a local directory, or a file: address. source: None if the query has one source of topics.
    Raises CheckpointError and OSError.
    """
    directory = Path(path.removeprefix("file://").removeprefix("file:"))
    if "://" in path and not path.startswith("file:"):
        raise CheckpointError(
            f"{path}: expected a local directory; copy the checkpoint's offsets and commits here"
        )
    batch = _last_batch(directory)
    lines = (directory / "offsets" / str(batch)).read_text(encoding="utf-8").splitlines()
    if len(lines) < 3 or lines[0] != VERSION:
        version = lines[0] if lines else "nothing"
        raise CheckpointError(
            f"{directory}/offsets/{batch}: found version {version!r}; expected {VERSION}, metadata "
            "and a line for each source"
        )
    sources = {number: _offsets(line) for number, line in enumerate(lines[2:])}
    topics = {number: offsets for number, offsets in sources.items() if offsets is not None}
    if source is None and len(topics) == 1:
        (only,) = topics.values()
        return only
    offsets = topics.get(-1 if source is None else source)
    if offsets is None:
        raise CheckpointError(
            f"{directory}: sources of topics are {sorted(topics) or 'none'} of {len(sources)}; "
            "choose one of them with --source"
        )
    return offsets


def _last_batch(directory: Path) -> int:
    commits = directory / "commits"
    if not commits.is_dir() or not (directory / "offsets").is_dir():
        raise CheckpointError(
            f"{directory}: expected the directories offsets and commits of a checkpoint"
        )
    batches = [int(file.name) for file in commits.iterdir() if file.name.isdecimal()]
    if not batches:
        raise CheckpointError(
            f"{directory}: no batch is committed; start with the options of the query itself"
        )
    return max(batches)


def _offsets(line: str) -> Offsets | None:
    """Return one source's offsets; None: it is no source of topics, or had none yet."""
    if line.strip() == NO_OFFSET:
        return None
    try:
        read = json.loads(line)
        return from_json(read) if isinstance(read, dict) else None
    except ValueError:
        return None
