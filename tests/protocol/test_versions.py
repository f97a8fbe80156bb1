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
def test_version_ranges_are_parsed_and_shown_in_the_notation_of_kafka(
    text: str, versions: tuple[int, int]
) -> None:
    assert parse_versions(text) == versions
    assert show_versions(versions) == text


@pytest.mark.parametrize("text", ["", "x", "5-3", "1-2+", "-1", "3-", "99999"])
def test_malformed_version_ranges_are_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_versions(text)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 50))
def test_a_version_range_covers_exactly_the_versions_from_first_to_last(
    first: int, size: int, version: int
) -> None:
    versions = parse_versions(f"{first}-{first + size}")

    assert covers(versions, version) == (first <= version <= first + size)
    assert not covers(NEVER, version)
