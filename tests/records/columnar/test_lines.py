"""Values as lines."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.records.columnar.lines import join_lines


@given(st.lists(st.none() | st.binary(max_size=20)))
def test_each_value_is_a_line_and_a_null_an_empty_one(values):
    expected = b"".join((value or b"") + b"\n" for value in values)

    records = pa.RecordBatch.from_arrays([pa.array(values, pa.binary())], ["value"])

    assert join_lines(records) == (len(values), expected)
