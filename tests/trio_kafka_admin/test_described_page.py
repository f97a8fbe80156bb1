"""Rows of pages with a described answer."""

import attrs
from trio.testing import MockClock

from trio_kafka_admin.described_page import rows_of


@attrs.frozen
class Flat:
    name: str
    points: list[tuple[float, int]]


async def test_rows_have_the_fields_of_their_values_as_they_are(
    autojump_clock: MockClock,
) -> None:
    points = [(1.0, 2)]

    rows = await rows_of(Flat(str(number), points) for number in range(50))

    assert [row["name"] for row in rows] == [str(number) for number in range(50)]
    assert all(row["points"] is points for row in rows)
