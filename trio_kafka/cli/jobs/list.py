"""`trio-kafka jobs list`: the periodic jobs of a broker, as its tree shows them."""

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any, Final

from trio_kafka.cli.broker_client import parse_address
from trio_kafka.cli.broker_options import declare_broker
from trio_kafka.cli.output import LEFT, RIGHT, columns, declare_json, print_answer
from trio_kafka.cli.tree import read_tree
from trio_kafka.protocol.messages.k10001_describe_tree import DescribeTreeResponse, TreeRow
from trio_kafka.protocol.tree_rows import value_of

KIND: Final = "job"
_FIGURES: Final = (
    "interval_s",
    "next_in_s",
    "last_ago_s",
    "last_took_s",
    "running",
    "runs",
    "failures",
    "last_error",
)
_HEAD: Final = ("job", "every s", "next in s", "last ago s", "took s", "runs", "failures", "error")


def declare(parser: ArgumentParser) -> None:
    declare_broker(parser)
    declare_json(parser, "one JSON object: `jobs`, each with its name and figures")


def list_jobs(*, bootstrap: str, json: bool, timeout: float) -> int:
    """Show the periodic jobs of a broker: interval, next and last run, duration, last error."""
    answer = read_tree(parse_address(bootstrap), kinds=[KIND], timeout_s=timeout)
    return print_answer(answer, as_data, as_text, json=json)


def as_data(answer: DescribeTreeResponse) -> dict[str, object]:
    """Return the jobs for JSON, by name."""
    return {"jobs": [{"name": row.name, **_figures(row)} for row in _jobs(answer)]}


def as_text(answer: DescribeTreeResponse) -> Iterator[str]:
    """Yield the lines of a table."""
    rows = []
    for row in _jobs(answer):
        figures = _figures(row)
        rows.append(
            [
                row.name,
                _number(figures["interval_s"]),
                "runs now" if figures["running"] else _number(figures["next_in_s"]),
                _number(figures["last_ago_s"]),
                _number(figures["last_took_s"], 3),
                str(figures["runs"]),
                str(figures["failures"]),
                figures["last_error"] or "-",
            ]
        )
    yield from columns(_HEAD, rows, [LEFT, *([RIGHT] * 6), LEFT])


def _jobs(answer: DescribeTreeResponse) -> list[TreeRow]:
    """Return the rows of the scheduler's jobs; other nodes of this kind have no interval."""
    jobs = (row for row in answer.rows if row.kind == KIND and "interval_s" in _names(row))
    return sorted(jobs, key=lambda row: row.name)


def _names(row: TreeRow) -> set[str]:
    return {figure.name for figure in row.figures}


def _figures(row: TreeRow) -> dict[str, Any]:
    values = {figure.name: value_of(figure) for figure in row.figures}
    return {name: values.get(name) for name in _FIGURES}


def _number(value: float | None, digits: int = 0) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
