"""A mapping copied by what changes in it."""

from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.metadata.immutable_map import ImmutableMap

changes = st.lists(
    st.dictionaries(st.integers(0, 40), st.one_of(st.none(), st.integers(0, 9)), max_size=12),
    max_size=12,
)


def apply(model: dict[int, int], change: dict[int, int | None]) -> dict[int, int]:
    merged = {**model, **change}
    return {key: value for key, value in merged.items() if value is not None}


@given(st.integers(0, 2000), changes)
def test_every_generation_of_the_map_equals_a_dict_with_the_same_changes(
    size: int, steps: list[dict[int, int | None]]
) -> None:
    model = {number: number for number in range(size)}
    result: ImmutableMap[int, int] = ImmutableMap(model)
    generations = [(result, dict(model))]
    for change in steps:
        model = apply(model, change)
        result = result.updated(change)
        generations.append((result, dict(model)))

    for overlay, expected in generations:
        assert len(overlay) == len(expected)
        assert dict(overlay.items()) == expected
        assert all(overlay.get(key) == expected.get(key) for key in range(45))
        assert all((key in overlay) == (key in expected) for key in range(45))


def test_many_changes_are_merged_into_a_new_base() -> None:
    result: ImmutableMap[int, int] = ImmutableMap({n: n for n in range(1000)})

    for number in range(300):
        result = result.updated({number: -1})

    assert not result._changes or len(result._changes) <= 256
    assert len(result) == 1000


def test_removed_keys_are_not_in_a_new_base() -> None:
    result: ImmutableMap[int, int] = ImmutableMap({n: n for n in range(1000)})

    result = result.updated(dict.fromkeys(range(300)))

    assert not result._changes
    assert len(result) == 700
    assert list(result.items()) == [(n, n) for n in range(300, 1000)]


def test_update_without_changes_returns_the_same_map() -> None:
    result: ImmutableMap[int, int] = ImmutableMap({1: 1})

    assert result.updated({}) is result
