"""Estimates of compressed sizes."""

from trio_kafka.clients.producer.compression import CompressionRatios


def test_estimate_gets_better_slowly_and_worse_fast():
    ratios = CompressionRatios()
    assert ratios.plain_size("t", 1000) == 1000

    for _ in range(40):
        ratios.compressed("t", 1000, 100)
    assert 800 < 1e6 / ratios.plain_size("t", 1000) < 900
    ratios.compressed("t", 1000, 990)
    assert 1e6 / ratios.plain_size("t", 1000) > 990


def test_estimate_has_a_bound_for_records_that_are_all_alike():
    ratios = CompressionRatios()
    for _ in range(1000):
        ratios.compressed("t", 1000, 1)

    assert 60 < 1e6 / ratios.plain_size("t", 1000) < 70


def test_batch_that_was_too_large_counts_on_no_compression():
    ratios = CompressionRatios()
    for _ in range(100):
        ratios.compressed("t", 1000, 100)

    ratios.too_large("t")

    assert ratios.plain_size("t", 1000) == 1000
    assert ratios.plain_size("u", 1000) == 1000
