"""Ids of new topics."""

from random import Random

from trio_kafka.controller.topic_ids import new_topic_id


def test_ids_are_random_uuids_and_never_begin_with_a_dash() -> None:
    random = Random(1)
    found = {new_topic_id(random.randbytes) for _ in range(500)}

    assert len(found) == 500
    assert all(one[0] >> 2 != 62 and one[6] >> 4 == 4 and one[8] >> 6 == 2 for one in found)


def test_an_id_that_would_begin_with_a_dash_is_drawn_again() -> None:
    drawn = iter([b"\xfb" + bytes(15), bytes([1] * 16)])

    assert new_topic_id(lambda _: next(drawn))[0] == 1
