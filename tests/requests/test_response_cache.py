"""Answers that are kept: how long, for whom, and how many."""

import gc
from weakref import ref

from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.metadata.image import MetadataImage
from trio_kafka.requests.registry import Registry
from trio_kafka.requests.replies import Encoded
from trio_kafka.requests.response_cache import MOST, MOST_BYTES, ResponseCache

IMAGE = MetadataImage()


def test_cached_response_is_found_while_the_metadata_image_is_the_same() -> None:
    kept, registry, answer = ResponseCache(), Registry(), Encoded(b"answer")
    kept.put(registry, IMAGE, "question", answer)

    assert kept.get(registry, IMAGE, "question") is answer
    assert kept.get(registry, IMAGE, "other question") is None


def test_new_metadata_image_invalidates_all_cached_responses() -> None:
    kept, registry = ResponseCache(), Registry()
    kept.put(registry, IMAGE, "question", Encoded(b"old"))
    changed = MetadataImage()

    assert kept.get(registry, changed, "question") is None
    kept.put(registry, changed, "other", Encoded(b"new"))
    assert kept.get(registry, changed, "question") is None
    assert kept.get(registry, IMAGE, "question") is None


def test_brokers_in_one_process_do_not_share_cached_responses() -> None:
    kept, first, second = ResponseCache(), Registry(), Registry()
    kept.put(first, IMAGE, "question", Encoded(b"of one"))

    assert kept.get(second, IMAGE, "question") is None


def test_cached_responses_are_freed_with_their_registry() -> None:
    kept, registry, image = ResponseCache(), Registry(), MetadataImage(cluster_id="gone")
    kept.put(registry, image, "question", Encoded(b"answer"))
    gone = ref(registry)
    del registry
    gc.collect()

    assert gone() is None
    assert not kept._responses


def test_cache_beyond_its_count_limit_keeps_the_last_response() -> None:
    kept, registry = ResponseCache(), Registry()
    for question in range(MOST):
        kept.put(registry, IMAGE, question, Encoded(b""))
    assert all(kept.get(registry, IMAGE, question) for question in range(MOST))

    kept.put(registry, IMAGE, MOST, Encoded(b""))
    assert kept.get(registry, IMAGE, 0) is None
    assert kept.get(registry, IMAGE, MOST) is not None


def test_too_large_response_is_not_cached_and_evicts_no_other_response() -> None:
    kept, registry = ResponseCache(), Registry()
    kept.put(registry, IMAGE, "small", Encoded(b"x"))
    kept.put(registry, IMAGE, "large", Encoded(bytes(MOST_BYTES + 1)))

    assert kept.get(registry, IMAGE, "large") is None
    assert kept.get(registry, IMAGE, "small") is not None
    kept.put(registry, IMAGE, "just", Encoded(bytes(MOST_BYTES)))
    assert kept.get(registry, IMAGE, "just") is not None


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, MOST_BYTES // 2))))
def test_cached_responses_never_exceed_the_size_limit(puts: list[tuple[int, int]]) -> None:
    kept, registry = ResponseCache(), Registry()
    for question, size in puts:
        kept.put(registry, IMAGE, question, Encoded(bytes(size)))

        result = [kept.get(registry, IMAGE, number) for number in range(6)]
        assert sum(len(response.body) for response in result if response) <= MOST_BYTES
        last = result[question]
        assert last is not None
        assert len(last.body) == size
