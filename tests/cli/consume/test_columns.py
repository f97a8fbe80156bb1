"""Values joined by Arrow are those that are joined one by one."""

import pytest

from tests.cli.kit import Shell
from trio_kafka.cli.consume import columns
from trio_kafka.controls.values import Record


def test_both_ways_print_the_same_lines(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    shell.kafka.create_topic("values")
    values = [b"a", None, b"", b"\0\n\xff", b"x" * 5000] * 20
    shell.kafka.produce("values", *[Record(value=value) for value in values])

    one_by_one = shell.run("consume", "values")
    monkeypatch.setattr(columns, "_WORTH", 0)
    joined = shell.run("consume", "values")

    assert joined == one_by_one == b"".join((value or b"") + b"\n" for value in values)


def test_short_reads_do_without_arrow() -> None:
    assert columns.lines_of(10) is not columns.lines_of(10_000_000)
