"""JSON that every parser reads in the same way, and nothing else.

Python's `json` also reads and writes NaN and Infinity, keeps the last of repeated names, and lets
lone surrogates through. Parsers of other languages reject such a text, or read something else.
Source: RFC 8259, and the rules of I-JSON (RFC 7493 §2) for names, surrogates and numbers.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate
from math import inf, isfinite, isnan
from typing import Any, Final, NoReturn

MOST_DEPTH: Final = 100  # lists and objects in one another; serde reads 128, .NET 64
_SHOWN: Final = 40  # characters of a wrong value
_MOST_DIGITS: Final = 308  # of a whole number in the range of a double
_TOO_DEEP: Final = f"deeper than {MOST_DEPTH} lists and objects"
_ONE_KIND: Final = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))
_LEVELS: Final = {ord("["): 1, ord("]"): -1}
_MAY_BE_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text, of UTF-8 if it is bytes. O(n), in one step.

    Raises ValueError: no JSON; deeper than `MOST_DEPTH`; a name twice in an object; a number beyond
    the range of a double; a lone surrogate.
    """
    if isinstance(text, bytes):
        text = text.decode()
    try:
        value = _DECODER.decode(text)
    except RecursionError:  # called with little of the stack left
        raise ValueError(_TOO_DEEP) from None
    if text.count("[") + text.count("{") > MOST_DEPTH:
        _check_depth(text)
    if _MAY_BE_SURROGATE.search(text):
        _check_surrogates(value)
    return value


def dump_json(
    value: object,
    *,
    indent: int | None = None,
    compact: bool = False,
    default: Callable[[Any], object] | None = None,
) -> str:
    """Return a value as JSON in ASCII; it always succeeds for JSON types.

    NaN and infinities become the texts "NaN", "Infinity" and "-Infinity", as in the JSON mapping
    of Protocol Buffers. A lone surrogate becomes U+FFFD.
    indent, default: as in `json.dumps`. compact: without spaces.
    """
    separators = (",", ":") if compact else None
    try:
        text = json.dumps(
            value, indent=indent, separators=separators, default=default, allow_nan=False
        )
    except ValueError:
        pass
    else:
        if not _MAY_BE_SURROGATE.search(text):
            return text
    return json.dumps(_portable(value), indent=indent, separators=separators, default=default)


def _check_depth(text: str) -> None:
    """Check how deep a valid text is. Raises ValueError."""
    unescaped = text.replace("\\\\", "").replace('\\"', "")
    outside = "".join(unescaped.split('"')[::2]).encode()
    brackets = outside.translate(_ONE_KIND, _NO_BRACKETS)
    if max(accumulate(map(_LEVELS.__getitem__, brackets)), default=0) > MOST_DEPTH:
        raise ValueError(_TOO_DEEP)


def _check_surrogates(value: object) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        code = ord(error.object[error.start])
        raise ValueError(f"a lone surrogate, U+{code:04X}") from None


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) < len(pairs):
        # A count of each name would be quadratic, and strangers choose the names.
        times = Counter(name for name, _ in pairs)
        repeated = next(name for name in times if times[name] > 1)
        raise ValueError(f"the name {repeated[:_SHOWN]!r} twice in an object")
    return members


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number of JSON")


def _float(digits: str) -> float:
    value = float(digits)
    if not isfinite(value):
        raise ValueError(f"the number {digits[:_SHOWN]} is out of range")
    return value


def _int(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"a whole number of {len(digits)} digits is out of range")
    return int(digits)


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=_no_constant, parse_float=_float, parse_int=_int
)


def _portable(value: object) -> object:
    """Return a copy that can be written."""
    if isinstance(value, float):
        return value if isfinite(value) else _word(value)
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, Mapping):
        return {_portable(name): _portable(item) for name, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        return [_portable(item) for item in value]
    return value


def _word(value: float) -> str:
    if isnan(value):
        return "NaN"
    return "Infinity" if value == inf else "-Infinity"
