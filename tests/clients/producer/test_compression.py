"""Estimates of compressed sizes."""

import pytest

from trio_kafka.clients.producer.compression import CompressionRatios


def test_estimate_gets_better_slowly_and_worse_fast():
    ratios = CompressionRatios()
    assert ratios.scale("t") == pytest.approx(1.05)

    for _ in range(40):
        ratios.compressed("t", 1000, 100)
    assert ratios.scale("t") == pytest.approx(0.8 * 1.05)
    ratios.compressed("t", 1000, 990)
    assert ratios.scale("t") == pytest.approx(0.99 * 1.05)


def test_estimate_has_a_bound_for_records_that_are_all_alike():
    ratios = CompressionRatios()
    for _ in range(1000):
        ratios.compressed("t", 1000, 1)

    assert ratios.scale("t") == pytest.approx(1.05 / 16)


def test_batch_that_was_too_large_counts_on_no_compression():
    ratios = CompressionRatios()
    for _ in range(100):
        ratios.compressed("t", 1000, 100)

    ratios.too_large("t")

    assert ratios.scale("t") == ratios.scale("u") == pytest.approx(1.05)
