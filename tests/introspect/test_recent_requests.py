"""The latest and the slowest requests of an API: bounded, and the right ones."""

from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.introspect.recent_requests import KEPT_S, RecentRequests
from trio_kafka.introspect.request_metrics import ApiMetrics
from trio_kafka.introspect.stamps import Stamps


def end(sums: ApiMetrics, total_s: float, now: float = 1000.0) -> Stamps:
    """A request that ends now and took so long."""
    stamps = Stamps(received=now - total_s, begun=now - total_s)
    sums.add(stamps, now)
    return stamps


@given(st.lists(st.integers(0, 50)), st.integers(0, 5))
def test_recent_requests_keep_the_latest_and_the_slowest_requests(
    totals: list[int], most: int
) -> None:
    sums = ApiMetrics(RecentRequests(most))
    ended = [end(sums, float(total)) for total in totals]
    sums.settle()

    assert list(sums.recent.latest) == ended[len(ended) - min(most, len(ended)) :]
    slowest = [stamps.sent - stamps.received for stamps in sums.recent.slowest()]
    assert slowest == sorted(map(float, totals), reverse=True)[:most]


def test_slow_requests_are_forgotten_after_an_hour_and_replaced() -> None:
    sums = ApiMetrics(RecentRequests(1))
    end(sums, 9.0, 1000.0)
    end(sums, 1.0, 1001.0)
    sums.settle()
    assert [stamps.sent for stamps in sums.recent.slowest()] == [1000.0]

    sums.recent.forget(1000.0 + KEPT_S)
    assert list(sums.recent.slowest()) == []

    end(sums, 2.0, 5000.0)
    sums.settle()
    assert [stamps.sent for stamps in sums.recent.slowest()] == [5000.0]


def test_expired_slow_requests_are_forgotten_without_being_read() -> None:
    sums = ApiMetrics(RecentRequests(1))
    end(sums, 9.0, 1000.0)
    for _ in range(1023):
        last = end(sums, 1.0, 1000.0 + KEPT_S)
    assert list(sums.recent.slowest()) == []

    newest = end(sums, 1.0, last.sent)
    sums.settle()
    assert newest in list(sums.recent.slowest())


def test_recent_requests_of_size_zero_keep_nothing() -> None:
    sums = ApiMetrics(RecentRequests(0))
    end(sums, 9.0)
    sums.settle()

    assert (list(sums.recent.latest), list(sums.recent.slowest())) == ([], [])
