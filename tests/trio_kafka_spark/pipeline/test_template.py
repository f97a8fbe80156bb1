"""Files written by `trio-kafka pipeline init`."""

import ast
import re

from trio_kafka_spark.pipeline.template import FILES


def test_each_template_file_ends_with_a_newline() -> None:
    assert [path for path, text in FILES.items() if not text.endswith("\n")] == []


def test_the_template_has_a_docstring_for_each_table() -> None:
    module = ast.parse(FILES["transformations/tables.py"])

    functions = [node for node in module.body if isinstance(node, ast.FunctionDef)]
    assert [function.name for function in functions] == ["records", "per_key"]
    assert [function.name for function in functions if not ast.get_docstring(function)] == []


def test_the_template_has_only_known_placeholders() -> None:
    words = {word for text in FILES.values() for word in re.findall(r"@[A-Z]+@", text)}

    assert words == {"@NAME@", "@TOPIC@", "@STORAGE@", "@DIRECTORY@"}
