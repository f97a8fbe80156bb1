"""Names and ids of topics."""

from random import Random

import pytest

from trio_kafka.controller.names import check_name, folded, new_topic_id
from trio_kafka.errors import ErrorCode, KafkaError


@pytest.mark.parametrize("name", ["a", "A-1_b.c", "...", "x" * 249, "__consumer_offsets"])
def test_legal_names_pass(name: str) -> None:
    check_name(name)


@pytest.mark.parametrize("name", ["", ".", "..", "x" * 250, "a b", "a/b", "ä", "a\n"])
def test_others_are_refused(name: str) -> None:
    with pytest.raises(KafkaError) as caught:
        check_name(name)

    assert caught.value.code is ErrorCode.INVALID_TOPIC_EXCEPTION


def test_the_metadata_topic_is_nobodys() -> None:
    with pytest.raises(KafkaError) as caught:
        check_name("__cluster_metadata")

    assert caught.value.code is ErrorCode.TOPIC_AUTHORIZATION_FAILED


def test_names_that_differ_in_dots_and_underscores_collide() -> None:
    assert folded("a.b") != folded("a-b")
    assert folded("a.b_c") == folded("a_b.c")


def test_ids_are_random_uuids_and_never_begin_with_a_dash() -> None:
    random = Random(1)
    found = {new_topic_id(random.randbytes) for _ in range(500)}

    assert len(found) == 500
    assert all(one[0] >> 2 != 62 and one[6] >> 4 == 4 and one[8] >> 6 == 2 for one in found)


def test_an_id_that_would_begin_with_a_dash_is_drawn_again() -> None:
    drawn = iter([b"\xfb" + bytes(15), bytes([1] * 16)])

    assert new_topic_id(lambda _: next(drawn))[0] == 1
