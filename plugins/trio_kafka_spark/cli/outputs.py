"""Output of Spark's commands: rows as a table or as JSON lines, and errors in one line."""

import re
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Final

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from trio_kafka.cli.output import LEFT, RIGHT, columns
from trio_kafka.protocol.texts import printable
from trio_kafka.strict_json import dump_json
from trio_kafka_spark.client.errors import OptionError, SourceError
from trio_kafka_spark.java import JavaError
from trio_kafka_spark.session import session

FAILED: Final = 1
_RAISED: Final = re.compile(r"^(?:[\w.]+\.)?\w*(?:Error|Exception): (.+)$", re.MULTILINE)
_LONGEST: Final = 60  # characters of a cell


def declare_output(parser: ArgumentParser, rows: int = 100) -> None:
    """Declare how the rows of a job are shown."""
    parser.add_argument("--json", action="store_true", help="print one JSON object a row")
    parser.add_argument(
        "--rows",
        type=int,
        default=rows,
        metavar="NUMBER",
        help="print no more than so many rows (%(default)d); 0: all",
    )
    parser.add_argument(
        "--save", metavar="DIR", help="write all rows to a directory of Parquet files instead"
    )


def run_job(name: str, master: str | None, job: Callable[[SparkSession], int]) -> int:
    """Run a job in a session, and return its exit status; errors are printed."""
    try:
        with _session(name, master) as spark:
            return job(spark)
    except (OptionError, SourceError, JavaError, OSError, ValueError) as error:
        return give_up(str(error))
    except PySparkException as error:
        return give_up(reason_of(error))


@contextmanager
def _session(name: str, master: str | None) -> Iterator[SparkSession]:
    """A session with times in UTC; stopped at the end unless it was there before."""
    active = SparkSession.getActiveSession()
    spark = session(
        f"trio-kafka {name}", master=master, settings={"spark.sql.session.timeZone": "UTC"}
    )
    if active is None:
        spark.sparkContext.setLogLevel("OFF")  # what fails is raised, too
    try:
        yield spark
    finally:
        if active is None:
            spark.stop()


def show(frame: DataFrame, *, json: bool, rows: int, save: str | None) -> int:
    """Print the rows of a job, or save them, and return their number, at most `rows` + 1."""
    if save is not None:
        frame.write.mode("errorifexists").parquet(save)
        return 0
    table = (frame.limit(rows + 1) if rows else frame).toArrow()
    all_rows = table.to_pylist()
    shown = all_rows[:rows] if rows else all_rows
    if json:
        for row in shown:
            print(dump_json(row, default=_as_json))
    else:
        numbers = [not isinstance(_first(table.column(n)), str) for n in range(table.num_columns)]
        cells = [[_cell(value) for value in row.values()] for row in shown]
        sides = [RIGHT if number else LEFT for number in numbers]
        for line in columns(table.column_names, cells, sides):
            print(line)
    if len(shown) < len(all_rows):
        print("There are more rows: use --rows, --save or --json --rows 0.", file=sys.stderr)
    return len(all_rows)


def _first(column: pa.ChunkedArray) -> object:
    """Return a value of a column as it is shown: text, or not (numbers go to the right)."""
    for value in column:
        if value.is_valid:
            plain = value.as_py()
            return plain if isinstance(plain, int | float) else str(plain)
    return ""


def _cell(value: object) -> str:
    match value:
        case None:
            return "-"
        case datetime():
            return value.isoformat(sep=" ", timespec="milliseconds").replace("+00:00", "Z")
        case bytes():
            text = _text(value)
        case list():
            text = ", ".join(map(_cell, value))
        case _:
            text = str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _as_json(value: object) -> str:
    if isinstance(value, bytes):
        return _text(value)
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return f"0x{data.hex()}"


def reason_of(error: PySparkException) -> str:
    """Return what a Python worker raised, without the traceback that Spark puts around it."""
    text = str(error)
    raised = _RAISED.findall(text)
    return str(raised[-1]) if raised else text.partition("\n")[0]


def give_up(reason: str) -> int:
    """Print why a command failed, and return its exit status."""
    print(f"trio-kafka: {printable(reason)}", file=sys.stderr)
    return FAILED
