from tests.benchmarks.bench_clients import BOUNDS, OURS, Contestant, Cost, contestants, missed
from tests.benchmarks.contestants import CONTESTANTS


def test_missed_bound_of_our_client_is_reported_with_its_ratio() -> None:
    figures = {
        Contestant(OURS, "produce"): Cost(20.0, 1.0),
        Contestant("aiokafka", "produce"): Cost(10.0, 1.0),
        Contestant("kafka-python", "produce"): Cost(40.0, 1.0),
    }

    assert missed(figures) == ["trio-kafka produce: 0.50 times aiokafka, want 0.6"]


def test_columns_are_compared_with_reads_of_others() -> None:
    figures = {
        Contestant(OURS, "columns"): Cost(1.0, 1.0),
        Contestant("aiokafka", "read"): Cost(1.4, 1.0),
    }

    assert missed(figures) == ["trio-kafka columns: 1.40 times aiokafka, want 1.5"]


def test_bounds_are_about_ways_that_contestants_have() -> None:
    for way, _ in BOUNDS:
        assert (OURS, way) in CONTESTANTS
        assert any(contestant.client == "aiokafka" for contestant in contestants(["produce"]))
