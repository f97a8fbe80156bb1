"""`trio-kafka log verify`: find damage in files of logs."""

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from trio_kafka.cli import FAILED
from trio_kafka.cli.log.dump import declare_paths
from trio_kafka.cli.log.findings import Finding, Level, error
from trio_kafka.cli.log.folder_checks import Checker
from trio_kafka.cli.log.places import Folder, folders_of
from trio_kafka.cli.log.words import size_text
from trio_kafka.cli.output import declare_json
from trio_kafka.protocol.texts import printable
from trio_kafka.strict_json import dump_json


def declare(parser: ArgumentParser) -> None:
    declare_paths(parser)
    parser.add_argument(
        "--quick", action="store_true", help="check batches by their CRC, do not decode records"
    )
    declare_json(parser, "a line of JSON for each finding, and one with the totals")


def verify(*, paths: Sequence[str], quick: bool, json: bool) -> int:
    """Check batches, records, indexes, snapshots and checkpoints, and how they fit together.

    An error is damage; a warning is something that a broker deals with or that may be meant. Ends
    with 1 if there is an error. Nothing is changed. On the files of a running broker, indexes and
    checkpoints may be behind: such findings are warnings.
    """
    checker = Checker(quick=quick)
    levels: Counter[Level] = Counter()
    for finding in check_folders(checker, folders_of(paths)):
        levels[finding.level] += 1
        print(dump_json(finding.as_data()) if json else printable(finding.as_text()))
    errors, warnings = levels[Level.ERROR], levels[Level.WARNING]
    if json:
        totals = {
            "is": "totals",
            "partitions": checker.partitions,
            "files": checker.files,
            "bytes": checker.bytes,
            "batches": checker.batches,
            "errors": errors,
            "warnings": warnings,
        }
        print(dump_json(totals))
    else:
        print(
            f"{checker.partitions} partitions, {checker.files} files, {size_text(checker.bytes)},"
            f" {checker.batches} batches: {errors} errors, {warnings} warnings"
        )
    return FAILED if errors else 0


def check_folders(checker: Checker, folders: Iterator[Folder]) -> Iterator[Finding]:
    """Yield findings about folders: a log directory's own files after its partitions."""
    root: Folder | None = None
    for folder in folders:
        if folder.whole and folder.partition is None:
            if root is not None:
                yield from _check(checker, root)
            root = folder
        else:
            yield from _check(checker, folder)
    if root is not None:
        yield from _check(checker, root)


def _check(checker: Checker, folder: Folder) -> Iterator[Finding]:
    try:
        yield from checker.check(folder)
    except OSError as problem:
        path = Path(problem.filename) if problem.filename else folder.path
        yield error(path, problem.strerror or str(problem))
