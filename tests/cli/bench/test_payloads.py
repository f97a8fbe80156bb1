"""Values of records of benchmarks."""

from trio_kafka.cli.bench.payloads import payloads


def test_values_differ_have_their_size_and_are_the_same_for_each_seed() -> None:
    values = payloads(100)

    assert {len(value) for value in values} == {100}
    assert len(set(values)) == 1000
    assert payloads(100) == values
    assert payloads(100, seed=1) != values


def test_few_payloads_are_made_if_they_are_large() -> None:
    assert len(payloads(4 << 20)) == 2
    assert payloads(0) == [b""] * 1000
