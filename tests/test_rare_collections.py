"""While many modules are imported, garbage is collected rarely."""

import gc

import pytest

from trio_kafka.rare_collections import rare_collections


def test_thresholds_of_the_garbage_collector_are_restored_even_after_an_error():
    before = gc.get_threshold()

    with pytest.raises(ImportError), rare_collections():
        assert gc.get_threshold() > before
        raise ImportError

    assert gc.get_threshold() == before
