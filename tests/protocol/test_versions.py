import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.protocol.versions import (
    ALWAYS,
    LAST,
    NEVER,
    covers,
    parse_versions,
    show_versions,
)


@pytest.mark.parametrize(
    ("text", "versions"),
    [("3", (3, 3)), ("0-5", (0, 5)), ("2+", (2, LAST)), ("0+", ALWAYS), ("none", NEVER)],
)
def test_versions_are_written_as_kafka_writes_them(text: str, versions: tuple[int, int]) -> None:
    assert parse_versions(text) == versions
    assert show_versions(versions) == text


@pytest.mark.parametrize("text", ["", "x", "5-3", "1-2+", "-1", "3-", "99999"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_versions(text)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 50))
def test_a_range_covers_its_ends_and_what_is_between(first: int, size: int, version: int) -> None:
    versions = parse_versions(f"{first}-{first + size}")

    assert covers(versions, version) == (first <= version <= first + size)
    assert not covers(NEVER, version)
