"""Bodies that are almost right: each value of a valid one in turn replaced by every odd value."""

from collections.abc import Iterator
from typing import Any, Final

ODD_VALUES: Final = (
    None, True, 0, -1, 1 << 31, 1 << 64, 10**300, 1.5, 1e308,
    "", "x" * 40_000, "\0", "é", [], [None], [[]], {}, {"a": []}, {"": ""},
)  # fmt: skip


def odd_bodies(valid: Any) -> Iterator[Any]:
    """Yield bodies; a body of lists is changed in the first item of each."""
    yield from ODD_VALUES
    if isinstance(valid, dict):
        for name, value in valid.items():
            yield from ({**valid, name: odd} for odd in odd_bodies(value))
            yield {other: valid[other] for other in valid if other != name}
        yield {**valid, "no_such_name": 1}
    elif isinstance(valid, list) and valid:
        yield from ([odd, *valid[1:]] for odd in odd_bodies(valid[0]))
