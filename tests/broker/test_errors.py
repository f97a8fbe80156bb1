import errno

from trio_kafka.broker.errors import listen_error, storage_error
from trio_kafka.errors import LogDirError


def test_a_storage_error_names_directory_reason_and_advice() -> None:
    error = LogDirError("/a", "cannot lock")
    error.__cause__ = BlockingIOError(errno.EAGAIN, "locked")

    told = "log directory /a: cannot lock: stop the broker that uses it"
    assert str(storage_error(error)) == told


def test_a_listener_is_named_with_its_address_and_the_reason() -> None:
    error = OSError(errno.EADDRINUSE, "Address already in use", "PLAINTEXT://127.0.0.1:9092")

    assert str(listen_error(error)) == (
        "listener PLAINTEXT://127.0.0.1:9092: Address already in use:"
        " stop what listens there, or change `listeners`"
    )
