import pytest

from trio_kafka_spark.lake.pace import Pace, pace_for


@pytest.mark.parametrize(
    ("lag", "interval_s"),
    [("10s", 5.0), ("2m", 60.0), ("1 min", 30.0), ("1500ms", 0.75), ("1h", 1800.0), (4, 2.0)],
)
def test_the_trigger_interval_is_half_of_the_lag_target(
    lag: str | float, interval_s: float
) -> None:
    assert pace_for(lag, 100) == Pace(interval_s, int(100 * interval_s))


def test_the_trigger_interval_is_written_in_milliseconds() -> None:
    assert pace_for("1500ms").trigger == "750 milliseconds"


def test_a_batch_has_at_least_one_record() -> None:
    assert pace_for("1s", 1).records == 1


@pytest.mark.parametrize("lag", ["", "5", "5 days", "-5s", "0.5s", 0, float("nan")])
def test_a_malformed_or_too_short_lag_target_is_refused(lag: str | float) -> None:
    with pytest.raises(ValueError, match="lag target"):
        pace_for(lag)


def test_a_rate_of_zero_records_per_second_is_refused() -> None:
    with pytest.raises(ValueError, match="records_per_second 0: want a number above 0"):
        pace_for("10s", 0)
