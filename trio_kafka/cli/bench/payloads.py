"""Values of records for a benchmark: letters, which a codec halves, as in Kafka's own tool."""

import random
from collections.abc import Sequence
from string import ascii_uppercase
from typing import Final

_DIFFERENT: Final = 1000
_MOST_BYTES: Final = 8 << 20  # of all values together


def payloads(size: int, seed: int = 0) -> Sequence[bytes]:
    """Return different values of `size` bytes, the same for each seed; at most 1,000, 8 MiB."""
    source = random.Random(seed)  # noqa: S311 - not a secret
    count = max(min(_DIFFERENT, _MOST_BYTES // max(size, 1)), 1)
    letters = ascii_uppercase.encode()
    return [bytes(source.choices(letters, k=size)) for _ in range(count)]
