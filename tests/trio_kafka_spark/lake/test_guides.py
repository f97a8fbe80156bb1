"""docs/how-to/spark-write.md and spark-tables.md: their code calls what there is."""

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: make test SPARK=yes")

from trio_kafka_spark import lake
from trio_kafka_spark.lake import delta, evolution, parquet, registry, sink, to_topic
from trio_kafka_spark.sink.options import _OURS

GUIDES = Path(__file__).parents[3] / "docs" / "how-to"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(name: str) -> list[str]:
    return BLOCK.findall((GUIDES / name).read_text())


def calls(source: str) -> list[ast.Call]:
    return [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]


@pytest.mark.parametrize("name", ["spark-write.md", "spark-tables.md"])
def test_the_python_blocks_of_a_guide_compile(name: str) -> None:
    assert len(blocks(name)) >= 3
    for block in blocks(name):
        compile(block, name, "exec")


def test_calls_in_the_guide_of_tables_match_the_signatures() -> None:
    text = (GUIDES / "spark-tables.md").read_text()
    result = [call for block in blocks("spark-tables.md") for call in calls(block)]
    result += [
        call for code in re.findall(r"`((?:Json|Avro|Raw)\([^`]*\))`", text) for call in calls(code)
    ]
    seen = set()
    for call in result:
        name = call.func.id  # type: ignore[attr-defined]
        if name not in lake.__all__:
            continue
        seen.add(name)
        arguments: dict[str, Any] = {str(keyword.arg): None for keyword in call.keywords}
        inspect.signature(getattr(lake, name)).bind(*call.args, **arguments)

    assert seen >= {"topic_to_table", "table_to_topic", "Avro", "Json", "Raw", "RegistrySettings"}


def test_arguments_in_the_guide_are_parameters_of_table_to_topic() -> None:
    text = (GUIDES / "spark-tables.md").read_text()
    section = text.partition("## From a table to a topic")[2].partition("## Errors")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    named = set(re.findall(r"`(\w+)=", "\n".join(rows)))

    assert named == {"keep_partitions", "where", "records_per_second", "version", "value", "key"}
    assert named <= set(inspect.signature(lake.table_to_topic).parameters)


def test_all_error_conditions_of_tables_are_in_the_guide() -> None:
    conditions = {
        delta.CONFLICT,
        delta.UNSUPPORTED_TABLE,
        evolution.CHANGED,
        parquet.OTHER_QUERY,
        registry.UNREACHABLE,
        sink.BAD_RECORD,
        to_topic.NO_TABLE,
    }
    text = (GUIDES / "spark-tables.md").read_text()

    assert set(re.findall(r"^\| `\[(\w+)\]`", text, re.MULTILINE)) == conditions


def test_all_options_of_the_sink_are_in_the_guide() -> None:
    text = (GUIDES / "spark-write.md").read_text()
    rows = set(re.findall(r"^\| `(\w+)` \|", text.partition("## Options")[2], re.MULTILINE))

    assert rows >= set(_OURS)
