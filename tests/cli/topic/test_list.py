"""`trio-kafka topic list`."""

import json

from tests.cli.kit import Shell


def test_list_shows_partitions_and_chooses_by_pattern(shell: Shell) -> None:
    shell.kafka.create_topic("list-a", partitions=3)
    shell.kafka.create_topic("list-b")

    table = shell.run("topic", "list", "list-*").decode().split()
    chosen = json.loads(shell.run("topic", "list", "list-[b-z]", "--regex", "--json"))

    assert table == [
        *("topic", "partitions", "replicas"),
        *("list-a", "3", "1"),
        *("list-b", "1", "1"),
    ]
    assert chosen == {
        "topics": [{"name": "list-b", "partitions": 1, "replicas": 1, "internal": False}]
    }


def test_wrong_expression_and_unknown_topic_are_errors(shell: Shell) -> None:
    shell.kafka.create_topic("tea")

    assert "(: not an expression of RE2" in shell.fail("topic", "list", "(", "--regex", status=2)
    assert "did you mean tea?" in shell.fail("topic", "list", "teaa")
