"""While many modules are imported, garbage is collected rarely; names are imported late."""

import gc
import json

import pytest

from trio_kafka.rare_collections import late_names, rare_collections


def test_thresholds_of_the_garbage_collector_are_restored_even_after_an_error():
    before = gc.get_threshold()

    with pytest.raises(ImportError), rare_collections():
        assert gc.get_threshold() > before
        raise ImportError

    assert gc.get_threshold() == before


def test_name_of_a_package_is_that_of_its_module():
    get = late_names("json", {"decoder": ("JSONDecoder",)})

    assert get("JSONDecoder") is json.JSONDecoder
    with pytest.raises(AttributeError, match="module 'json' has no attribute 'x'"):
        get("x")
