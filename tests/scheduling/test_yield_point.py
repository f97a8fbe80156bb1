"""Yield point: a call does nothing until one is bound."""

from trio_kafka.scheduling.yield_point import YieldPoint


def test_an_unbound_yield_point_does_nothing() -> None:
    yield_point = YieldPoint()

    assert not yield_point.bound
    yield_point()


def test_a_yield_point_calls_the_function_bound_last() -> None:
    yield_point, calls = YieldPoint(), list[str]()
    yield_point.bind(lambda: calls.append("first"))
    yield_point()
    yield_point.bind(lambda: calls.append("second"))
    yield_point()
    yield_point()

    assert yield_point.bound
    assert calls == ["first", "second", "second"]
