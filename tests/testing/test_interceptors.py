"""Owners for tests."""

from trio_kafka.testing.interceptors import RecordingOwner


def test_an_owner_keeps_what_it_is_told() -> None:
    owner, error = RecordingOwner("guard"), ValueError()
    owner.failed(error, "before Produce")

    assert owner.name == "guard"
    assert owner.failures == [(error, "before Produce")]
