"""Plain lines in blocks: the same records as one by one, and errors that name the line."""

import pytest

from tests.cli.kit import Shell
from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.produce.blocks import Block
from trio_kafka.cli.produce.lines import LineForm

LINES = [b"%d\t%d" % (number % 7, number) for number in range(3000)]


def test_block_gives_keys_and_values_with_their_nulls():
    block = Block("f", 1, [b"a:1", b"-:2", b"c:-"])

    assert block.columns(LineForm()) == ([b"a:1", b"-:2", b"c:-"], None)
    keys_and_values = LineForm(key_separator=b":", null=b"-")
    assert block.columns(keys_and_values) == ([b"1", b"2", None], [b"a", None, b"c"])


def test_line_without_a_separator_is_named_only_if_it_is_used():
    whole = Block("orders.txt", 5, [b"a:1", b"b:2", b"rice"])
    head, rest = whole.cut(2)

    assert head.columns(LineForm(key_separator=b":"))[0] == [b"1", b"2"]
    assert whole.cut(3) == (whole, None)
    assert rest is not None
    with pytest.raises(CommandFailedError, match=r"orders\.txt: line 7: no key separator b':'"):
        rest.columns(LineForm(key_separator=b":"))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("values", ()),
        ("keys", ("-K", "\\t")),
        ("one-partition", ("-K", "\\t", "-p", "1")),
        ("one-key", ("-k", "all")),
    ],
)
def test_blocks_and_single_records_store_the_same(
    shell: Shell, name: str, options: tuple[str, ...]
) -> None:
    text = b"\n".join(LINES)
    stored = []
    for topic, way in ((f"{name}-blocks", ()), (f"{name}-singles", ("--report",))):
        shell.kafka.create_topic(topic, 3)
        shell.run("produce", topic, *options, "--time", "5", *way, stdin=text)
        stored.append(
            [(r.partition, r.timestamp_ms, r.key, r.value) for r in shell.kafka.records(topic)]
        )

    in_blocks, singles = stored
    if not options:  # without keys, partitions are drawn
        in_blocks, singles = ([row[1:] for row in rows] for rows in stored)
    assert sorted(in_blocks, key=repr) == sorted(singles, key=repr)
    assert len(in_blocks) == len(LINES)


def test_count_ends_in_the_middle_of_a_block(shell: Shell) -> None:
    shell.kafka.create_topic("counted")

    shell.run("produce", "counted", "-n", "1500", stdin=b"\n".join(LINES))
    shell.run("produce", "counted", "-n", "0", stdin=b"x\n")

    assert [record.value for record in shell.kafka.records("counted")] == LINES[:1500]


def test_transactions_of_so_many_records_hold_all_lines_of_two_files(
    shell: Shell, tmp_path
) -> None:
    shell.kafka.create_topic("by-two")
    (tmp_path / "a").write_bytes(b"1\n2\n3\n")
    (tmp_path / "b").write_bytes(b"4\n\n5")
    files = [str(tmp_path / name) for name in ("a", "b")]

    shell.run("produce", "by-two", *files, "--transactional-id", "x", "--commit-every", "2")

    stored = [record.value for record in shell.kafka.records("by-two", committed=True)]
    assert stored == [b"1", b"2", b"3", b"4", b"", b"5"]


def test_record_that_the_broker_rejects_is_named(shell: Shell, tmp_path) -> None:
    shell.kafka.create_topic("bounded", configs={"max.message.bytes": "500"})
    (tmp_path / "a").write_bytes(b"1\n2\n3\n")
    (tmp_path / "b").write_bytes(b"4\n" + b"x" * 600 + b"\n6\n")

    line = shell.fail("produce", "bounded", str(tmp_path / "a"), str(tmp_path / "b"))

    assert "bounded-0 at broker 1" in line
    assert "MESSAGE_TOO_LARGE" in line
    assert line.endswith("record 5")
