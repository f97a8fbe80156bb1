"""`trio-kafka topic delete`."""

from tests.cli.kit import Shell


def test_named_topic_is_deleted(shell: Shell) -> None:
    shell.kafka.create_topic("gone")

    assert shell.run("topic", "delete", "gone") == b"done: delete topic gone\n"
    assert "gone" not in shell.kafka.topics()


def test_delete_by_a_pattern_needs_the_option_yes(shell: Shell) -> None:
    for name in ("p-1", "p-2"):
        shell.kafka.create_topic(name)

    line = shell.fail("topic", "delete", "p-*", status=2)
    dry = shell.run("topic", "delete", "p-*", "--dry-run").decode()
    remaining = shell.kafka.topics()
    shell.run("topic", "delete", "p-*", "--yes")

    assert "the pattern matches 2 topics" in line
    assert dry.startswith("would delete topic p-1\nwould delete topic p-2\n")
    assert {"p-1", "p-2"} <= set(remaining)
    assert not {"p-1", "p-2"} & set(shell.kafka.topics())
