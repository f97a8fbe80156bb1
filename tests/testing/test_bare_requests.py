"""Requests without a network."""

from trio_kafka.testing.planes import bare_request, numbers


def test_bare_request_keeps_its_number() -> None:
    assert numbers([bare_request(3), bare_request(5)]) == [3, 5]
    assert bare_request().key == 18
