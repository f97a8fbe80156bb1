"""Values as source."""

import ast

import pytest

from trio_kafka_admin.copying.literals import client, literal


@pytest.mark.parametrize(
    ("value", "source"),
    [
        ("plain", '"plain"'),
        ("it's", '"it\'s"'),
        ('say "x"', "'say \"x\"'"),
        ("\u202e\n", '"\\u202e\\n"'),
        (["a", 1], '["a", 1]'),
        ({"a": None, "b": True}, '{"a": None, "b": True}'),
        (0.5, "0.5"),
    ],
)
def test_a_value_is_a_literal_that_means_it(value: object, source: str) -> None:
    assert literal(value) == source
    assert ast.literal_eval(literal(value)) == value


def test_a_client_has_one_line_for_each_setting() -> None:
    lines = client("consumer", "Consumer", {"group.id": "g"})

    assert lines[2:4] == [
        '        "bootstrap.servers": kafka.bootstrap,',
        '        "group.id": "g",',
    ]
    ast.parse("\n".join(lines))
