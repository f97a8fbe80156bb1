"""`trio-kafka produce`: input, options, and what goes wrong."""

import pytest

from tests.cli.kit import Shell


def test_lines_with_headers_keys_and_nulls_become_records(shell: Shell) -> None:
    shell.kafka.create_topic("lines", partitions=2)

    shell.run(
        *("produce", "lines", "-K", ":", "--header-separator", "\\t", "--null", "NULL"),
        *("-p", "1", "-H", "all=x", "--time", "5000", "-z", "gzip"),
        stdin=b"a=1\tk:v\n\tNULL:NULL\n\tlast:",
    )

    first, second, last = shell.kafka.records("lines")
    assert (first.key, first.value, first.partition, first.timestamp_ms) == (b"k", b"v", 1, 5000)
    assert tuple(first.headers) == (("all", b"x"), ("a", b"1"))
    assert (second.key, second.value) == (None, None)
    assert (last.key, last.value) == (b"last", b"")


def test_files_are_read_in_turn_by_lines_or_as_a_whole(shell: Shell, tmp_path) -> None:
    shell.kafka.create_topic("files")
    (tmp_path / "a").write_bytes(b"1\n2\n")
    (tmp_path / "b").write_bytes(b"3;4")
    files = [str(tmp_path / name) for name in "ab"]

    shell.run("produce", "files", files[0], "-", "-n", "3", stdin=b"in\nnot this")
    shell.run("produce", "files", files[1], "-D", ";")
    shell.run("produce", "files", *files, "--whole-files", "-k", "K")

    records = shell.kafka.records("files")
    assert [record.value for record in records] == [
        *(b"1", b"2", b"in", b"3", b"4", b"1\n2\n", b"3;4")
    ]
    assert [record.key for record in records[-2:]] == [b"K", b"K"]


def test_report_names_the_place_of_each_record(shell: Shell) -> None:
    shell.kafka.create_topic("places")

    output = shell.run("produce", "places", "--report", stdin=b"a\nb\n")

    assert output == b"places-0 0\nplaces-0 1\n"


def test_transaction_is_committed_as_a_whole_or_in_portions(shell: Shell) -> None:
    shell.kafka.create_topic("bought")

    shell.run("produce", "bought", "--transactional-id", "t", stdin=b"a\nb\n")
    shell.run(
        "produce", "bought", "--transactional-id", "t", "--commit-every", "1", stdin=b"c\nd\n"
    )

    values = [record.value for record in shell.kafka.records("bought", committed=True)]
    assert values == [b"a", b"b", b"c", b"d"]


def test_wrong_line_aborts_the_transaction(shell: Shell) -> None:
    shell.kafka.create_topic("aborted")

    line = shell.fail(
        *("produce", "aborted", "--json", "--transactional-id", "t2"),
        stdin=b'{"value":"v"}\n{"value":1}\n',
    )

    assert line.startswith("trio-kafka: standard input: line 2: `value`: 1: want a text")
    assert shell.kafka.records("aborted", committed=True) == []


def test_json_lines_keep_their_partitions_unless_keys_choose(shell: Shell) -> None:
    shell.kafka.create_topic("kept", partitions=3)
    lines = b"".join(
        b'{"topic":"kept","partition":2,"key":"%s","value":"v"}\n' % key
        for key in (b"a", b"b", b"c")
    )

    shell.run("produce", "--json", stdin=lines)
    kept = [record.partition for record in shell.kafka.records("kept")]
    shell.run("produce", "kept", "--json", "--repartition", stdin=lines)

    assert kept == [2, 2, 2]
    assert {record.partition for record in shell.kafka.records("kept")} > {2}


def test_topic_is_created_only_if_asked_for(shell: Shell) -> None:
    line = shell.fail("produce", "new", stdin=b"a\n")
    shell.run("produce", "new", "--create", stdin=b"a\n")

    assert line.startswith("trio-kafka: topic new: there is no such topic")
    assert [record.value for record in shell.kafka.records("new")] == [b"a"]


def test_record_that_is_too_large_names_topic_and_limit(shell: Shell) -> None:
    shell.kafka.create_topic("small")

    line = shell.fail("produce", "small", "-X", "max.request.size=1000", stdin=b"x" * 2000 + b"\n")

    assert "small: a batch of one record" in line
    assert "max.request.size allows 1000" in line


def test_setting_that_is_unknown_gets_a_suggestion(shell: Shell) -> None:
    shell.kafka.create_topic("set")

    line = shell.fail("produce", "set", "-X", "linger.msec=5", status=2)

    assert line.endswith("linger.msec: no such setting: did you mean linger.ms?")


def test_setting_without_effect_is_a_warning(shell: Shell) -> None:
    shell.kafka.create_topic("warned")

    status, _, errors = shell.result("produce", "warned", "-X", "client.rack=a", stdin=b"a\n")

    assert status == 0
    assert errors.startswith("trio-kafka: warning: client.rack has no effect")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "give a TOPIC"),
        (["t", "--json", "-K", ":"], "separators and --null are for lines"),
        (["t", "--json", "--whole-files"], "two forms of input"),
        (["t", "--rate", "0"], "want more than 0"),
        (["t", "--commit-every", "5"], "needs --transactional-id"),
        (["t", "--transactional-id", "x", "--acks", "1"], "a transaction needs --acks all"),
        (["t", "-H", "=v"], "want name=value"),
        (["t", "-D", ""], "--delimiter: want at least one character"),
        (["t", "-K", "\\q"], "--key-separator: unknown escape"),
        (["t", "--time", "soon"], "'soon' is not a time"),
    ],
)
def test_options_that_exclude_one_another_are_rejected(
    shell: Shell, options: list[str], words: str
) -> None:
    assert words in shell.fail("produce", *options, status=2)


def test_file_that_is_missing_is_named(shell: Shell) -> None:
    shell.kafka.create_topic("filed")

    line = shell.fail("produce", "filed", "/no/such", status=2)

    assert line == "trio-kafka: /no/such: No such file or directory"
