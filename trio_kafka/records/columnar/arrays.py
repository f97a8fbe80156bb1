"""Make Arrow arrays of numpy's without a copy.

`pyarrow.array` would do it too, but imports pandas where that is installed: half a second.
"""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def as_arrow(values: NDArray[Any], kind: Any, missing: NDArray[np.bool_] | None = None) -> Any:
    """The numbers `values` as an array of the Arrow type `kind`, of as many bits.

    missing: which of them are null.
    """
    validity = None if missing is None else as_bits(~missing)
    numbers = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(kind, len(values), [validity, numbers])


def as_booleans(values: NDArray[np.bool_]) -> Any:
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, as_bits(values)])


def as_bits(values: NDArray[np.bool_]) -> pa.Buffer:
    """A bitmap as Arrow has it: the first value is the lowest bit."""
    return pa.py_buffer(np.packbits(values, bitorder="little"))
