"""Records from lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.produce import lines as lines_module
from trio_kafka.cli.produce.lines import LineForm, Lines, parse_header
from trio_kafka.cli.records.record_json import RecordLine


@given(st.lists(st.binary(max_size=6)), st.integers(1, 5))
def test_input_in_any_pieces_gives_the_same_lines(pieces, size):
    text = b"--".join(pieces)
    lines = Lines(source="f", delimiter=b"--")

    cut = [line for at in range(0, len(text), size) for line in lines.split(text[at : at + size])]
    cut += lines.end()

    whole = text.split(b"--")
    assert cut == (whole if whole[-1] else whole[:-1])


def test_headers_key_and_value_stand_in_this_order():
    form = LineForm(key_separator=b":", header_separator=b"\t", null=b"-")

    assert form.read(b"a=1,b\tk:v:w") == RecordLine(
        key=b"k", value=b"v:w", headers=(("a", b"1"), ("b", None))
    )
    assert form.read(b"\t-:-") == RecordLine()
    assert LineForm().read(b"a\tb") == RecordLine(value=b"a\tb")


def test_line_without_its_separator_names_source_and_line():
    lines = Lines(source="orders.txt", delimiter=b"\n")
    form = LineForm(key_separator=b"\t")
    records = lines.records(lines.split(b"k\tv\nrice\n"), form.read)

    assert next(records).key == b"k"
    with pytest.raises(CommandFailedError, match=r"orders.txt: line 2: no key separator b'\\t'"):
        next(records)


def test_line_longer_than_the_limit_is_rejected(monkeypatch):
    monkeypatch.setattr(lines_module, "LONGEST", 10)
    lines = Lines(source="f", delimiter=b"\n")

    assert lines.split(b"0123456789") == []
    with pytest.raises(CommandFailedError, match="f: line 1 has more than"):
        lines.split(b"0")


def test_header_needs_a_name():
    assert parse_header(b"a=b=c") == ("a", b"b=c")
    with pytest.raises(ValueError, match="want name=value"):
        parse_header(b"=1")
