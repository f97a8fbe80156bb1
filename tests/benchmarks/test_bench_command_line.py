from pathlib import Path

import pytest

from tests.benchmarks.bench_command_line import BOUNDS, KCAT, OURS, Cost, commands, lines, report


def test_missed_bound_beside_kcat_is_reported_with_its_ratio(
    capsys: pytest.CaptureFixture[str],
) -> None:
    costs = {OURS: [Cost(5.0, 1.0), Cost(9.0, 2.0), Cost(5.0, 1.0)], KCAT: [Cost(2.0, 0.5)]}

    assert report("produce", costs, 1000) == ["produce: 0.40 times kcat's records/s, want 0.5"]
    assert report("consume", {**costs, OURS: [Cost(3.0, 1.0)]}, 1000) == []
    assert "200/s   1.00 s of CPU" in capsys.readouterr().out


def test_both_programs_have_a_command_for_each_way() -> None:
    for way in BOUNDS:
        both = commands(way, "h:1", "t", Path("f"))
        assert set(both) == {OURS, KCAT}
        assert all("t" in words for words in both.values())


def test_lines_have_one_size_and_perhaps_keys() -> None:
    plain, keyed = list(lines(3, keys=False)), list(lines(3, keys=True))

    assert {len(line) for line in plain + keyed} == {101}
    assert len(set(plain)) == 3
    assert [line.partition(b"\t")[0] for line in keyed] == [
        b"key-000000",
        b"key-000001",
        b"key-000002",
    ]
