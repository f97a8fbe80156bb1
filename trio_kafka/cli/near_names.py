"""The nearest name to one that does not exist."""

from collections.abc import Sequence
from difflib import get_close_matches


def nearest(name: str, others: Sequence[str]) -> str:
    """Return a hint at the name that is most like another one; empty: none is."""
    near = get_close_matches(name, others, n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else ""
