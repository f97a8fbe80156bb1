"""docs/how-to/spark-logs.md and spark-jobs.md: options, columns and commands are there."""

import re
import shlex
from argparse import ArgumentParser
from importlib import import_module

import pytest

from tests.project.tree import ROOT

pytest.importorskip("pyspark", reason="pyspark is not installed: make test SPARK=yes")
from trio_kafka_spark.cli.spark import COMMANDS
from trio_kafka_spark.log.options import SPELLINGS, VIEWS, LogOptions
from trio_kafka_spark.log.schemas import view_schema

LOGS = (ROOT / "docs" / "how-to" / "spark-logs.md").read_text()
JOBS = (ROOT / "docs" / "how-to" / "spark-jobs.md").read_text()
LINES = re.findall(r"^trio-kafka spark (.*)$", JOBS, re.MULTILINE)
# Printed by the commands, or those of SOURCE's page.
OWN_JOBS = [name for name in COMMANDS if COMMANDS[name][0].startswith("trio_kafka_spark.cli.")]


@pytest.mark.parametrize("line", LINES)
def test_every_spark_command_in_the_guide_is_parsed(line: str) -> None:
    name, *arguments = shlex.split(line)
    module = import_module(COMMANDS[name][0].partition(":")[0])
    parser = ArgumentParser(name, exit_on_error=False)

    module.declare(parser)

    assert parser.parse_args(arguments)


def test_spark_jobs_guide_shows_every_job() -> None:
    assert {line.split()[0] for line in LINES} == set(OWN_JOBS)


def test_spark_logs_guide_names_every_option_of_the_reader() -> None:
    shown = set(re.findall(r"`([a-zA-Z]+)(?:=[a-z_]+)?`", LOGS))

    assert set(SPELLINGS) - shown == set()


@pytest.mark.parametrize("view", VIEWS)
def test_spark_logs_guide_lists_the_columns_of_each_view(view: str) -> None:
    (row,) = re.findall(rf"^\| `{view}`[^|]*\|[^|]*\|(.*)\|$", LOGS, re.MULTILINE)
    options = {"path": "/a", "view": view, "subscribe": "t"}
    more = {"records": {"includeHeaders": "true"}, "batches": {"uncompressed": "true"}}

    schema = view_schema(LogOptions.from_options(options | more.get(view, {})))

    assert re.findall(r"`(\w+)`", row) == schema.names
