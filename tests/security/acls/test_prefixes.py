"""Sorted prefixes: the model is a set that is searched as a whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.security.acls.prefixes import PrefixMap

NAMES = st.text(alphabet="ab*\uffff\N{GRINNING FACE}", max_size=5)


def prefixes(stored: PrefixMap[str], name: str) -> list[str]:
    """The stored prefixes of a name, longest first."""
    names = []
    prefix = stored.longest(name)
    while prefix is not None:
        assert prefix.value == f"value of {prefix.name}"
        names.append(prefix.name)
        prefix = prefix.parent
    return names


@given(st.lists(st.tuples(st.booleans(), NAMES)), st.lists(NAMES))
def test_all_prefixes_of_a_name_are_found_after_any_changes(
    changes: list[tuple[bool, str]], names: list[str]
) -> None:
    stored: PrefixMap[str] = PrefixMap()
    model: set[str] = set()
    for adds, name in changes:
        if adds and name not in model:
            stored.add(name, f"value of {name}")
            model.add(name)
        elif not adds and name in model:
            stored.remove(name)
            model.remove(name)
        assert len(stored) == len(model)
        assert bool(stored) == bool(model)

    for name in [*names, *model]:
        expected = sorted(
            (prefix for prefix in model if name.startswith(prefix)), key=len, reverse=True
        )
        assert prefixes(stored, name) == expected
        assert (stored.get(name) is not None) == (name in model)


def test_a_prefix_that_is_not_stored_cannot_be_removed() -> None:
    with pytest.raises(KeyError):
        PrefixMap[str]().remove("a")
