"""Stamps of a request: key and version are in its code."""

from trio_kafka.introspect.stamps import NOWHERE, Stamps
from trio_kafka.model import code_of


def test_stamps_have_the_api_key_and_version_of_their_code() -> None:
    stamps = Stamps(received=1.0, begun=2.0, code=code_of(18, 4))

    assert (stamps.key, stamps.version) == (18, 4)


def test_new_stamps_have_no_times_after_the_start() -> None:
    stamps = Stamps(received=1.0, begun=2.0)

    assert (stamps.handled, stamps.answered, stamps.sending, stamps.sent) == (0.0,) * 4
    assert stamps.origin is NOWHERE
