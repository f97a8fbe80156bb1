import errno

from trio_kafka.broker.errors import listen_error, storage_error
from trio_kafka.errors import LogDirError


def test_storage_error_names_directory_cause_and_advice() -> None:
    error = LogDirError("/a", "cannot lock")
    error.__cause__ = BlockingIOError(errno.EAGAIN, "locked")

    message = "log directory /a: cannot lock: stop the broker that uses it"
    assert str(storage_error(error)) == message


def test_listen_error_names_listener_address_cause_and_advice() -> None:
    error = OSError(errno.EADDRINUSE, "Address already in use", "PLAINTEXT://127.0.0.1:9092")

    assert str(listen_error(error)) == (
        "listener PLAINTEXT://127.0.0.1:9092: Address already in use:"
        " stop what listens there, or change `listeners`"
    )
