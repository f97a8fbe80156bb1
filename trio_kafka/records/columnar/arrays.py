"""Conversions between numpy and Arrow arrays without a copy.

pyarrow's own `array`, `scalar` and `to_numpy` import pandas if it is installed: 0.3 s.
"""

from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Number = TypeVar("Number", bound=np.generic)


def as_arrow(
    values: NDArray[Number], kind: pa.DataType, missing: NDArray[np.bool_] | None = None
) -> pa.Array:
    """Return the numbers `values` as an array of the Arrow type `kind`, of the same width.

    missing: mask of the nulls.
    """
    validity = None if missing is None else as_bits(~missing)
    numbers = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(kind, len(values), [validity, numbers])


def as_numpy(array: pa.Array, kind: type[Number]) -> NDArray[Number]:
    """Return the numbers of an Arrow array without a copy; `kind` is their type. Nulls are
    arbitrary.
    """
    numbers = array.buffers()[1]
    if numbers is None:
        return np.empty(0, kind)
    return np.frombuffer(numbers, kind)[array.offset : array.offset + len(array)]


def nulls_of(array: pa.Array) -> NDArray[np.bool_]:
    """Return a mask of the null elements of an Arrow array."""
    nulls = array.is_null()
    bits = np.unpackbits(np.frombuffer(nulls.buffers()[1], np.uint8), bitorder="little")
    return bits[nulls.offset : nulls.offset + len(nulls)].view(np.bool_)


def one_text(text: str) -> pa.Array:
    """Return an array of one string."""
    encoded = text.encode()
    offsets = np.array([0, len(encoded)], np.int32)
    return pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(offsets), pa.py_buffer(encoded)]
    )


def as_booleans(values: NDArray[np.bool_]) -> pa.Array:
    """Return an array of booleans."""
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, as_bits(values)])


def as_bits(values: NDArray[np.bool_]) -> pa.Buffer:
    """Return a bitmap in Arrow's form: the first value is the lowest bit."""
    return pa.py_buffer(np.packbits(values, bitorder="little"))
