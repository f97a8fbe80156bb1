"""Log directories that run out of space, or are lost."""

import pytest

from tests.trio_kafka_admin.findings.kit import apply, directory, moment, words_of
from trio_kafka_admin.findings.rules.directories import directory_space, lost_directory


@pytest.mark.parametrize(
    ("share", "free_bytes", "words"),
    [
        (0.949, 10**9, []),
        (None, None, []),
        (0.956, 1_200_000_000, ["the disk of /data is 96 % full: 1.2 GB are free"]),
        (1.0, 0, ["the disk of /data is full: 0 B are free"]),
        (0.9995, 4_000, ["the disk of /data is full: 4.0 kB are free"]),
        (0.97, None, ["the disk of /data is 97 % full"]),
    ],
)
def test_disk_is_a_finding_from_95_percent_on(
    share: float | None, free_bytes: int | None, words: list[str]
) -> None:
    full = directory(used_share=share, free_bytes=free_bytes)

    assert words_of(apply(directory_space, moment(1.0, directories=[full]))) == words


def test_lost_directory_says_how_many_others_serve() -> None:
    lost = directory("/a", error="OSError: EIO", used_share=1.0)

    for others, words in (
        (0, "the last one, and the broker ends"),
        (1, "1 other directory serves"),
    ):
        directories = [lost, *(directory(f"/b{n}") for n in range(others))]
        [finding] = apply(lost_directory, moment(1.0, directories=directories))
        assert finding.words.startswith("log directory /a is offline: OSError: EIO; ")
        assert words in finding.words
        assert apply(directory_space, moment(1.0, directories=directories)) == []
